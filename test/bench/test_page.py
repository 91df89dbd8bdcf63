"""Records of benchmarks, and the page that is written from them."""

import json
from pathlib import Path

import pytest

import manip_dyn as md
from manip_dyn.bench import (
    SUITES,
    Record,
    Timing,
    calls,
    clik,
    cold,
    collisions,
    dynamics,
    ensembles,
    execution,
    growth,
    integrators,
    keep,
    mechanisms,
    page,
    path_timing,
    planning,
    read_record,
    sweeps,
)
from manip_dyn.cli import main

BENCHMARKS = Path(md.__file__).parent.parent / "benchmarks"
TIMINGS = [Timing("manip_dyn", 1.25, 1.0), Timing("pinocchio", 3.0, 2.4)]
ROWS = {
    "calls": [calls.Row("kernels.mass_matrix(q)", TIMINGS)],
    "dynamics": [
        dynamics.Row("arm", "mass matrix", dynamics.MANY, TIMINGS, "kernels.mass_matrix(q)")
    ],
    "growth": [growth.Row(3, "taylor to order 8", 0.5, TIMINGS[:1])],
    "clik": [clik.Row("arm", ["mink is not installed"], TIMINGS)],
    "integrators": [
        integrators.Row("arm, 1 s", "manip_dyn rk", (1e-3, 1e-6), (0.25, 1.0)),
        integrators.Row("arm, 1 s", "peer", (1e-3, 1e-6), (0.5, None)),
    ],
    "planning": [planning.Row("short", "zero net work", 0.5, None, "no solution")],
    "path_timing": [
        path_timing.Row("arm, straight", "manip_dyn, 60 intervals", 2.0, 1.25, 0.0, 0.999),
        path_timing.Row("arm, straight", "IPOPT", 100.0, 1.25, None, None),
    ],
    "execution": [
        execution.Row("rr", "all", 40, 0.02, 0, 1.01, 0, -3.0, 39, 1, 0.05, 1.2),
        execution.Row("rr", "none", 1, 0.02, 0, 1.01, 0, -3.0, 0, 1, None, None),
    ],
    "ensembles": [
        ensembles.Row("arm, 10 motions", TIMINGS, []),
        ensembles.Row("arm, with tolerances", TIMINGS, [1e-6, 1e-9]),
    ],
    "stiff": [integrators.Row("pendulum, 2 s", "manip_dyn rodas5p", (1e-2,), (0.125,))],
    "mechanisms": [mechanisms.Row(25, "manip_dyn", 1e-4, 5e-5, 20, 40.0)],
    "sweeps": [sweeps.Row("md.sweep(task, cases)", 8, 2, 0.5, 2.5, 0.8, 0.25, 64.0, 1)],
    "collisions": [collisions.Row("random postures", TIMINGS)],
    "cold": [cold.Row("import", 0.5, 0.25)],
}
"""Suite -> rows of a measurement."""


def record(suite, commit="0a1b2c3", date="2026-01-02"):
    return Record(suite, date, {"commit": commit, "processor": "none"}, ROWS[suite])


def page_with(*suites):
    return "".join(f"By hand.\n<!-- bench {suite} -->\nold\n<!-- end -->\n" for suite in suites)


@pytest.mark.parametrize("suite", SUITES)
def test_a_stored_record_equals_the_measured_record(suite, tmp_path):
    file = keep(record(suite), tmp_path)
    assert file.name == f"{suite}-0a1b2c3.json"
    assert str(read_record(file)) == str(record(suite))
    assert json.loads(file.read_text()) == json.loads(json.dumps(record(suite).content()))
    assert read_record(file).content() == json.loads(file.read_text())


@pytest.mark.parametrize("commit", ["0a1b2c3-dirty", "unknown"])
def test_a_record_without_a_clean_commit_is_rejected(commit, tmp_path):
    with pytest.raises(md.ManipDynError, match=f"must be clean to store a record, got '{commit}'"):
        keep(record("cold", commit), tmp_path)
    assert not list(tmp_path.iterdir())
    text = json.dumps(record("cold", commit).content())
    (tmp_path / f"cold-{commit}.json").write_text(text)
    with pytest.raises(md.ManipDynError, match="must be clean"):
        page.rendered(page_with(*SUITES), tmp_path)


def test_the_command_checks_the_commit_before_it_measures(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("manip_dyn.bench.timing.commit", lambda: "0a1b2c3-dirty")
    command = ["bench", "cold", "--keep", str(tmp_path / "runs")]
    monkeypatch.setattr("manip_dyn.bench.cold.measure", lambda: pytest.fail("measured"))
    assert main(command) == 2
    assert "must be clean to store a record, got '0a1b2c3-dirty'" in capsys.readouterr().err
    monkeypatch.setattr("manip_dyn.bench.timing.commit", lambda: "0a1b2c3")
    assert main(["bench", "dynamics", "--keep", str(tmp_path), "--robot", "rr"]) == 2
    assert "Remove --robot." in capsys.readouterr().err
    monkeypatch.setattr("manip_dyn.bench.cold.measure", lambda: ROWS["cold"])
    assert main(command) == 0
    assert read_record(tmp_path / "runs" / "cold-0a1b2c3.json").rows == ROWS["cold"]


def test_the_page_shows_the_newest_record_between_text_by_hand(tmp_path):
    for commit, date in (("bbbbbbb", "2026-01-02"), ("aaaaaaa", "2026-01-03")):
        keep(record("cold", commit, date), tmp_path / "runs")
    readme = tmp_path / "README.md"
    readme.write_text(page_with(*SUITES))
    page.main(tmp_path)
    text = readme.read_text()
    assert text.count("By hand.") == len(SUITES)
    assert "old\n" not in text
    assert "2026-01-03, [data](runs/cold-aaaaaaa.json)" in text
    assert f"```text\n{record('cold', 'aaaaaaa')}\n```" in text
    assert "bbbbbbb" not in text
    assert text.count("No run is stored yet") == len(SUITES) - 1
    assert page.rendered(text, tmp_path / "runs") == text


@pytest.mark.parametrize("suites", [SUITES[1:], (*SUITES, "cold"), (*SUITES, "colder")])
def test_a_page_must_have_one_marker_per_suite(suites, tmp_path):
    with pytest.raises(md.ManipDynError, match="must have one marker for each of dynamics"):
        page.rendered(page_with(*suites), tmp_path)
    (tmp_path / "README.md").write_text(page_with(*suites))
    with pytest.raises(SystemExit, match="must have one marker for each"):
        page.main(tmp_path)


@pytest.mark.skipif(not BENCHMARKS.is_dir(), reason="not a checkout")
def test_the_page_matches_the_stored_records():
    text = (BENCHMARKS / "README.md").read_text(encoding="utf-8")
    command = "run python -m manip_dyn.bench.page benchmarks"
    assert page.rendered(text, BENCHMARKS / "runs") == text, command
    chart = (BENCHMARKS / page.CHART).read_text(encoding="utf-8")
    assert chart == page.chart(BENCHMARKS / "runs"), command


@pytest.mark.skipif(not BENCHMARKS.is_dir(), reason="not a checkout")
def test_a_stored_file_is_named_after_its_suite_and_commit():
    for file in (BENCHMARKS / "runs").glob("*"):
        stored = read_record(file)
        assert file.name == f"{stored.suite}-{stored.setting['commit']}.json"
        content = json.loads(file.read_text())
        assert file.read_text() == json.dumps(content, indent=1) + "\n"
        rows = json.loads(json.dumps(stored.content()))["rows"]
        for row, values in zip(rows, content["rows"], strict=True):
            assert row | values == row  # fields that are newer than the record have defaults
