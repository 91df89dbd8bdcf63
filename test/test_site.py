"""The site: read as a whole, with warnings as errors, and the reference as complete as it says."""

import importlib
import shutil
from pathlib import Path

import pytest
from command_line import parser_of

import manip_dyn as md
from manip_dyn.cli import COMMANDS

ROOT = Path(md.__file__).parents[1]
DOCUMENTED = ("robot", "codegen", "integration", "control", "simulation", "clik", "planning")
DOCUMENTED += ("planning.path_timing", "multibody", "studies", "bench")
DOCUMENTED += ("viewer", "recording", "inspection", "identification")
DOCUMENTED += ("ensembles", "ensembles.sweeps", "export")

pytestmark = pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="not a checkout")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Read all pages and resolve all references; nothing is run or written. `make docs` does."""
    for package in ("myst_parser", "furo", "sphinx_gallery", "sphinxarg", "sphinx_design"):
        pytest.importorskip(package, reason="the site needs pip install '.[docs]'")
    from sphinx.application import Sphinx
    from sphinx.util.docutils import docutils_namespace

    home = tmp_path_factory.mktemp("site")
    for folder in ("docs", "examples"):
        shutil.copytree(ROOT / folder, home / folder, ignore=shutil.ignore_patterns("gallery"))
    for other in ("benchmarks", "config", "README.md"):
        (home / other).symlink_to(ROOT / other)
    docs, out = str(home / "docs"), str(home / "out")
    with docutils_namespace(), (home / "warnings").open("w+") as warnings:
        app = Sphinx(
            *(docs, docs, out, out + "/doctrees", "dummy"),
            confoverrides={"plot_gallery": "0", "smartquotes": "0"},
            status=None,
            warning=warnings,
        )
        app.build()
        warnings.seek(0)
        app.told = warnings.read()
        yield app


def test_no_page_has_a_warning(site):
    """Dead links, unknown names, pages that no menu has, markup that is none."""
    assert site.told == ""
    assert len(site.env.found_docs) > 40


def test_an_example_leads_to_its_page(site):
    """On the site; the page in the repository links to the script."""
    from sphinx.addnodes import download_reference, pending_xref

    page = site.env.get_doctree("index")
    links = [node["reftarget"] for node in page.findall(pending_xref)]
    assert "gallery/05_singular_posture" in [link.removesuffix(".rst") for link in links]
    assert not list(page.findall(download_reference))


@pytest.mark.parametrize("package", ["manip_dyn", *(f"manip_dyn.{each}" for each in DOCUMENTED)])
def test_every_public_name_is_in_the_reference(site, package):
    told = {name.rpartition(".")[2] for name in site.env.get_domain("py").objects}
    assert sorted(set(importlib.import_module(package).__all__) - told) == []


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_in_the_reference(site, command):
    page = site.env.get_doctree("reference/command_line")
    (section,) = [
        each
        for each in page.findall(lambda node: node.tagname == "section")
        if each[0].astext().split()[-1] == command
    ]
    words = set(section.astext().replace(",", " ").replace("=", " ").split())
    for action in parser_of(command)._actions:
        names = action.option_strings or [action.dest]
        assert words >= set(names) - {"-h", "--help"}, names
