"""Pages: their imports, public names, file names and links exist."""

import ast
import re
from pathlib import Path

import pytest

import manip_dyn as md

ROOT = Path(md.__file__).parents[1]
NAMES = ("README", "CONTRIBUTING", "CHANGELOG")
PAGES = sorted([*(ROOT / f"{name}.md" for name in NAMES), *(ROOT / "docs").glob("**/*.md")])


@pytest.fixture(params=PAGES, ids=lambda page: page.name)
def page(request):
    return request.param.read_text(encoding="utf-8")


def examples(page):
    return [ast.parse(code) for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL)]


def test_examples_import_public_modules_only(page):
    """`manip_dyn` or a package one level below it."""
    for tree in examples(page):
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("manip_dyn"):
                assert node.module.count(".") <= 1, node.module


def test_no_line_of_a_page_is_a_comment(page):
    """MyST hides lines that start with a percent sign."""
    prose = re.sub(r"```.*?```", "", page, flags=re.DOTALL)
    assert re.findall(r"^\s*%.*", prose, re.MULTILINE) == []


def test_placeholders_are_not_tags(page):
    """A word in angle brackets outside of code is hidden as an unknown HTML tag."""
    prose = re.sub(r"```.*?```|`[^`]*`|<!--.*?-->", "", page, flags=re.DOTALL)
    assert re.findall(r"<(?!a id|/a>|https?:)[A-Za-z]\w*", prose) == []


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # the changelog lists old names
def test_public_names_on_a_page_exist(page):
    names = set(re.findall(r"\bmd\.([A-Za-z_]+)", page))
    assert [name for name in sorted(names) if not hasattr(md, name)] == []


def test_files_named_on_a_page_exist(page):
    folders = [ROOT, ROOT / "manip_dyn", ROOT / "docs"]
    for name in re.findall(r"`((?:\w+/)+\w+\.\w+)`", page):
        if not re.search(r"\b(PAPER|NAME)\b", name):  # placeholders
            assert any((folder / name).exists() for folder in folders), name


@pytest.mark.parametrize("file", PAGES, ids=lambda file: file.name)
def test_links_have_targets(file):
    """Links to pages and other files, relative to the page."""
    text = file.read_text(encoding="utf-8")
    for link in re.findall(r"\]\((?!https?:)([\w./-]+)", text):
        assert (file.parent / link).exists(), link
