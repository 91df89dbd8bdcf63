"""Structure of the studies: a folder for each paper, and the imports between them."""

import ast
import json
from pathlib import Path

import pytest

import manip_dyn.studies
from manip_dyn.studies import PAPERS, paper

STUDIES = Path(manip_dyn.studies.__file__).parent


def modules(folder):
    """Return dotted name below `folder` -> file."""
    files = {}
    for file in folder.rglob("*.py"):
        parts = file.relative_to(folder).with_suffix("").parts
        files[".".join(part for part in parts if part != "__init__")] = file
    return files


def imported(file, names):
    """Return the modules in `names` that a file imports."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("manip_dyn."):
            module = node.module.removeprefix("manip_dyn.studies").removeprefix(".")
            members = {f"{module}.{alias.name}".strip(".") for alias in node.names}
            yield from names & (members if members & names else {module})


def wrong_imports(folder):
    """Return imports of one paper by another, or of a paper by the report."""
    files = modules(folder)
    return [
        (name, target)
        for name, file in files.items()
        for target in imported(file, files.keys())
        if (package := name.split(".")[0]) in (*PAPERS, "report")
        and target.split(".")[0] not in (package, "report")
    ]


def test_papers_do_not_import_one_another():
    assert wrong_imports(STUDIES) == []


@pytest.mark.parametrize(
    ("file", "line", "wrong"),
    [
        (
            "report/charts.py",
            "from manip_dyn.studies.fan2003.motions import Row",
            ("report.charts", "fan2003.motions"),
        ),
        (
            "fan2003/settings.py",
            "from manip_dyn.studies.sandu2001 import pendulum",
            ("fan2003.settings", "sandu2001.pendulum"),
        ),
        (
            "fan2003/settings.py",
            "from manip_dyn.studies.sandu2001 import recompute",
            ("fan2003.settings", "sandu2001"),
        ),
        (
            "fan2003/settings.py",
            "from manip_dyn.studies import papers",
            ("fan2003.settings", "papers"),
        ),
    ],
)
def test_a_forbidden_import_is_detected(file, line, wrong, tmp_path):
    for source in STUDIES.rglob("*.py"):
        copy = tmp_path / source.relative_to(STUDIES)
        copy.parent.mkdir(exist_ok=True)
        copy.write_text(source.read_text() if source == STUDIES / file else "")
    with (tmp_path / file).open("a") as changed:
        changed.write(f"{line}\n")
    assert wrong_imports(tmp_path) == [wrong]


def test_every_folder_is_a_paper_with_its_published_values():
    folders = {file.parent.name for file in STUDIES.glob("*/__init__.py")}
    assert folders == {*PAPERS, "report"}
    for name in PAPERS:
        assert "all" in paper(name).ITEMS
        published = json.loads((STUDIES / name / "published.json").read_text(encoding="utf-8"))
        assert name[-4:] in published["source"]
