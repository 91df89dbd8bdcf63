"""Records of benchmarks and the page that is written from them."""

import json
from pathlib import Path

import pytest

import manip_dyn as md
from manip_dyn.bench import SUITES, Record
from manip_dyn.bench.clik import Row as ClikRow
from manip_dyn.bench.cold import Row as ColdRow
from manip_dyn.bench.dynamics import Row as DynamicsRow
from manip_dyn.bench.ensembles import Row as EnsembleRow
from manip_dyn.bench.growth import Row as GrowthRow
from manip_dyn.bench.integrators import Row as ErrorRow
from manip_dyn.bench.page import CHART, chart, rendered
from manip_dyn.bench.page import main as write_page
from manip_dyn.bench.path_timing import Row as PathRow
from manip_dyn.bench.planning import Row as PlanningRow
from manip_dyn.bench.record import keep, read_record
from manip_dyn.bench.timing import Timing
from manip_dyn.cli import main

BENCHMARKS = Path(md.__file__).parent.parent / "benchmarks"
TIMINGS = [Timing("manip_dyn", 1.25, 1.0), Timing("pinocchio", 3.0, 2.4)]
ROWS = {
    "dynamics": [DynamicsRow("arm", "mass matrix", "compiled", TIMINGS)],
    "growth": [GrowthRow(3, "taylor to order 8", 0.5, TIMINGS[:1])],
    "clik": [ClikRow("arm", ["mink is not installed"], TIMINGS)],
    "integrators": [
        ErrorRow("arm, 1 s", "manip_dyn rk", (1e-3, 1e-6), (0.25, 1.0)),
        ErrorRow("arm, 1 s", "peer", (1e-3, 1e-6), (0.5, None)),
    ],
    "planning": [PlanningRow("short", "zero net work", 0.5, None, "gave up")],
    "path_timing": [
        PathRow("arm, straight", "manip_dyn, 60 intervals", 2.0, 1.25, 0.0, 0.999),
        PathRow("arm, straight", "IPOPT", 100.0, 1.25, None, None),
    ],
    "ensembles": [
        EnsembleRow("arm, 10 motions", TIMINGS, []),
        EnsembleRow("arm, with tolerances", TIMINGS, [1e-6, 1e-9]),
    ],
    "stiff": [ErrorRow("pendulum, 2 s", "manip_dyn rodas5p", (1e-2,), (0.125,))],
    "cold": [ColdRow("import", 0.5, 0.25)],
}
"""Rows of every suite as they are measured."""


def record(suite, commit="0a1b2c3", date="2026-01-02"):
    return Record(suite, date, {"commit": commit, "processor": "none"}, ROWS[suite])


def places(*suites):
    return "".join(f"By hand.\n<!-- bench {each} -->\nold\n<!-- end -->\n" for each in suites)


@pytest.mark.parametrize("suite", SUITES)
def test_a_kept_record_says_what_the_measured_one_said(suite, tmp_path):
    file = keep(record(suite), tmp_path)
    assert file.name == f"{suite}-0a1b2c3.json"
    assert str(read_record(file)) == str(record(suite))
    assert json.loads(file.read_text()) == json.loads(json.dumps(record(suite).content()))
    assert read_record(file).content() == json.loads(file.read_text())


@pytest.mark.parametrize("commit", ["0a1b2c3-dirty", "unknown"])
def test_a_record_of_no_clean_commit_is_refused(commit, tmp_path):
    with pytest.raises(md.ManipDynError, match=f"is '{commit}'; expected a clean one"):
        keep(record("cold", commit), tmp_path)
    assert not list(tmp_path.iterdir())
    text = json.dumps(record("cold", commit).content())
    (tmp_path / f"cold-{commit}.json").write_text(text)
    with pytest.raises(md.ManipDynError, match="expected a clean one"):
        rendered(places(*SUITES), tmp_path)


def test_the_command_refuses_before_it_measures(monkeypatch, capsys, tmp_path):
    """And keeps what was measured on a clean commit."""
    monkeypatch.setattr("manip_dyn.bench.timing.commit", lambda: "0a1b2c3-dirty")
    keeping = ["bench", "cold", "--keep", str(tmp_path / "runs")]
    monkeypatch.setattr("manip_dyn.bench.cold.measure", lambda: pytest.fail("measured"))
    assert main(keeping) == 2
    assert "'0a1b2c3-dirty'; expected a clean one" in capsys.readouterr().err
    monkeypatch.setattr("manip_dyn.bench.timing.commit", lambda: "0a1b2c3")
    assert main(["bench", "dynamics", "--keep", str(tmp_path), "--robot", "rr"]) == 2
    assert "expected no --robot" in capsys.readouterr().err
    monkeypatch.setattr("manip_dyn.bench.cold.measure", lambda: ROWS["cold"])
    assert main(keeping) == 0
    assert read_record(tmp_path / "runs" / "cold-0a1b2c3.json").rows == ROWS["cold"]


def test_the_newest_record_stands_on_the_page_among_words_by_hand(tmp_path):
    for commit, date in (("bbbbbbb", "2026-01-02"), ("aaaaaaa", "2026-01-03")):
        keep(record("cold", commit, date), tmp_path / "runs")
    page = tmp_path / "README.md"
    page.write_text(places(*SUITES))
    write_page(tmp_path)
    text = page.read_text()
    assert text.count("By hand.") == len(SUITES)
    assert "old\n" not in text
    assert "2026-01-03, [data](runs/cold-aaaaaaa.json)" in text
    assert f"```text\n{record('cold', 'aaaaaaa')}\n```" in text
    assert "bbbbbbb" not in text
    assert text.count("No run is kept yet") == len(SUITES) - 1
    assert rendered(text, tmp_path / "runs") == text


@pytest.mark.parametrize("there", [SUITES[1:], (*SUITES, "cold"), (*SUITES, "colder")])
def test_a_page_has_one_place_for_each_suite(there, tmp_path):
    with pytest.raises(md.ManipDynError, match="expected one for each of dynamics"):
        rendered(places(*there), tmp_path)
    (tmp_path / "README.md").write_text(places(*there))
    with pytest.raises(SystemExit, match="expected one for each"):
        write_page(tmp_path)


@pytest.mark.skipif(not BENCHMARKS.is_dir(), reason="not a checkout")
def test_the_page_is_what_the_kept_records_say():
    """`python -m manip_dyn.bench.page benchmarks` writes it."""
    page = (BENCHMARKS / "README.md").read_text(encoding="utf-8")
    assert rendered(page, BENCHMARKS / "runs") == page
    assert (BENCHMARKS / CHART).read_text(encoding="utf-8") == chart(BENCHMARKS / "runs")


@pytest.mark.skipif(not BENCHMARKS.is_dir(), reason="not a checkout")
def test_a_kept_file_is_named_after_its_suite_and_commit():
    for file in (BENCHMARKS / "runs").glob("*"):
        found = read_record(file)
        assert file.name == f"{found.suite}-{found.setting['commit']}.json"
        assert file.read_text() == json.dumps(found.content(), indent=1) + "\n"
