"""Studies: a folder for each paper, one report for all; who may import what."""

import ast
import json
from functools import cache
from pathlib import Path

import pytest

import manip_dyn.studies
from manip_dyn.studies import PAPERS, paper

STUDIES = Path(manip_dyn.studies.__file__).parent
DEEPEST = 5
"""Floors of imports, the first module included."""


def modules(folder):
    """Return dotted name below `folder` -> file."""
    found = {}
    for file in folder.rglob("*.py"):
        parts = file.relative_to(folder).with_suffix("").parts
        found[".".join(part for part in parts if part != "__init__")] = file
    return found


def imported(file, known):
    """Return the known modules that a file imports."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("manip_dyn."):
            module = node.module.removeprefix("manip_dyn.studies").removeprefix(".")
            names = {f"{module}.{alias.name}".strip(".") for alias in node.names}
            yield from known & (names if names & known else {module})


def wrong_imports(folder):
    """Return what reaches from a paper into another, or from the report into a paper."""
    known = modules(folder)
    return [
        (name, other)
        for name, file in known.items()
        for other in imported(file, known.keys())
        if (room := name.split(".")[0]) in (*PAPERS, "report")
        and other.split(".")[0] not in (room, "report")
    ]


def floors(folder):
    """Return how deep the deepest chain of imports is."""
    known = modules(folder)

    @cache
    def height(name):
        below = (height(each) for each in imported(known[name], known.keys()) if each != name)
        return 1 + max(below, default=0)

    return max(map(height, known))


def test_no_paper_knows_another_and_the_report_knows_none():
    assert wrong_imports(STUDIES) == []


def test_imports_are_at_most_five_floors_deep():
    assert 3 <= floors(STUDIES) <= DEEPEST


@pytest.mark.parametrize(
    ("file", "line", "wrong"),
    [
        (
            "report/charts.py",
            "from manip_dyn.studies.fan2003.cases import Row",
            ("report.charts", "fan2003.cases"),
        ),
        (
            "fan2003/arms.py",
            "from manip_dyn.studies.sandu2001 import pendulum",
            ("fan2003.arms", "sandu2001.pendulum"),
        ),
        (
            "fan2003/arms.py",
            "from manip_dyn.studies.sandu2001 import recompute",
            ("fan2003.arms", "sandu2001"),
        ),
        ("fan2003/arms.py", "from manip_dyn.studies import study", ("fan2003.arms", "study")),
    ],
)
def test_a_planted_violation_is_seen(file, line, wrong, tmp_path):
    for each in STUDIES.rglob("*.py"):  # sound, see above
        copy = tmp_path / each.relative_to(STUDIES)
        copy.parent.mkdir(exist_ok=True)
        copy.write_text(each.read_text() if each == STUDIES / file else "")
    with (tmp_path / file).open("a") as planted:
        planted.write(f"{line}\n")
    assert wrong_imports(tmp_path) == [wrong]


def test_a_chain_that_is_too_long_is_seen(tmp_path):
    for k in range(DEEPEST + 1):
        (tmp_path / f"m{k}.py").write_text(f"from manip_dyn.studies.m{k + 1} import x\n")
    (tmp_path / f"m{DEEPEST + 1}.py").write_text("x = 1\n")
    assert floors(tmp_path) == DEEPEST + 2


def test_every_folder_is_a_paper_with_what_it_prints():
    rooms = {file.parent.name for file in STUDIES.glob("*/__init__.py")}
    assert rooms == {*PAPERS, "report"}
    for name in PAPERS:
        assert "all" in paper(name).ITEMS
        published = json.loads((STUDIES / name / "published.json").read_text(encoding="utf-8"))
        assert name[-4:] in published["source"]
