"""Study of Galhano, Machado (1994): orders, claims and files, with reduced settings."""

import csv
import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from pictures import save_roughly

import manip_dyn as md
from manip_dyn.cli import main
from manip_dyn.codegen import operation_report
from manip_dyn.studies import galhano1994, report

METHODS = {"fig3": ("rk2", "rk4"), **dict.fromkeys(galhano1994.FAMILIES[1:], ("rkf45",))}
"""A single pair for all families is compiled once."""


@pytest.fixture(scope="module")
def settings():
    shipped = report.read_settings("galhano1994", galhano1994.Settings)
    return replace(
        shipped,
        motions={"rr": shipped.motions["rr"]},
        steps=(64, 128, 256, 512, 1024),
        tolerances=(1e-3, 1e-6, 1e-9, 1e-10, 1e-11),
        most_steps=2000,
        taylor_orders=(3, 4),
        methods=METHODS,
        energy_methods=("rk4",),
        safeties=(0.9,),
        safety_methods=("rkf45",),
        alternatives={2: ("rk2_heun",)},
        repeats=1,
        slice=1e-6,
    )


@pytest.fixture(scope="module")
def findings(settings):
    return galhano1994.recompute("all", settings)


def curves(findings, name):
    (figure,) = (figure for figure in findings.figures if figure.name == name)
    return figure.curves


def test_table_1_matches_the_published_table():
    assert len(galhano1994.table1()) == 25
    assert all(
        row.computed == row.published and row.status == "reproduced"
        for row in galhano1994.table1()
    )


def test_every_curve_has_the_order_of_its_method(findings, settings):
    floor, most = settings.compared_errors
    for name in ("fig2", "fig3", "fig4"):
        for curve in curves(findings, name):
            assert curve.between(floor, most).measured_order() == pytest.approx(
                curve.order, abs=0.3
            ), curve.label
    assert [curve.label for curve in curves(findings, "fig2")] == [
        "T 3,2",
        "T 3,3",
        "T 4,3",
        "T 4,4",
    ]
    assert [curve.order for curve in curves(findings, "fig2")] == [2, 3, 3, 4]


def test_the_reference_is_exact_enough_for_the_compared_errors(findings, settings):
    (reference,) = findings.references
    assert reference.cross_check < 0.1 * settings.compared_errors[0]


def test_energy_drift_decreases_with_the_number_of_steps(findings):
    (curve,) = curves(findings, "energy")
    drifts = [point.error for point in curve.points]
    assert drifts == sorted(drifts, reverse=True)


def test_points_count_steps_and_evaluations(findings, settings):
    for curve in curves(findings, "fig3"):
        assert [point.steps for point in curve.points] == list(settings.steps)
        assert all(p.seconds > 0.0 and p.status == "SUCCESS" for p in curve.points)
    stages = {"rk2": 2, "rk4": 4}
    for curve in curves(findings, "fig3"):
        assert all(p.evaluations == stages[curve.method] * p.steps for p in curve.points)


def test_a_run_with_too_many_steps_has_its_status_and_no_error(settings):
    few = replace(settings, most_steps=100, methods={**METHODS, "fig3": ("rk2",)})
    points = curves(galhano1994.recompute("fig3", few), "fig3")[0].points
    assert [point.status for point in points] == ["SUCCESS", *["TOO_MANY_STEPS"] * 4]
    assert np.isnan(points[-1].error)


def test_every_claim_has_a_number_and_a_verdict(findings):
    assert {claim.key for claim in findings.claims} == set(galhano1994.PUBLISHED["claims"])
    for claim in findings.claims:
        if claim.cases:
            assert np.isfinite(claim.number)
            assert claim.status in ("confirmed", "partly confirmed", "refuted")
            assert (claim.fraction == 1.0) == (not claim.exceptions)


def test_json_and_csv_agree_and_pictures_are_written(findings, tmp_path, monkeypatch):
    save_roughly(monkeypatch, "fig3_rr", "energy_rr")
    content = json.loads(json.dumps(findings.content(), allow_nan=False))
    files = findings.write(tmp_path)
    drawn = [f"{figure.name}_rr" for figure in findings.figures]
    assert drawn == [*(f"{name}_rr" for name in galhano1994.FIGURES), "energy_rr"]
    names = {f"{name}.{kind}" for name in drawn for kind in ("png", "svg", "csv")}
    tables = {f"{name}.csv" for name in ("table1", "fastest", "customizing", "sigma", "claims")}
    assert {file.name for file in files} == names | tables
    for name in ("fig3_rr", "energy_rr"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    with (tmp_path / "fig3_rr.csv").open() as file:
        rows = list(csv.DictReader(file))
    (figure,) = (figure for figure in content["figures"] if figure["name"] == "fig3")
    points = [(c["method"], p["error"]) for c in figure["curves"] for p in c["points"]]
    assert [(row["method"], float(row["error"])) for row in rows] == points
    for claim in content["claims"]:
        assert claim["published"] == galhano1994.PUBLISHED["claims"][claim["key"]]


def test_the_text_shows_published_and_computed_values(findings):
    text = str(findings)
    assert "published  computed  difference      status" in text
    assert f'published: "{galhano1994.PUBLISHED["claims"]["order pays"]}"' in text


def line(label, order, shift, cost):
    """Return the curve error = shift * steps^-order with a computing time of cost * steps."""
    points = [
        galhano1994.Point(n, cost * n, shift * float(n) ** -order, n, 0, n, "SUCCESS")
        for n in (10, 100, 1000)
    ]
    return galhano1994.Curve(label, label, order, tuple(points))


def test_curves_are_compared_at_equal_steps_and_times():
    """A method with a tenth of the error and twice the cost, both of order 2."""
    pair = line("a", 2, 1.0, 1.0), line("b", 2, 0.1, 2.0)
    assert [c.number for c in galhano1994.at_equal_steps(pair, 1.0)] == pytest.approx([10.0] * 3)
    # At equal time the first has twice the steps; the last time is beyond its runs.
    assert [c.number for c in galhano1994.at_equal_times(pair, 1.0)] == pytest.approx([2.5] * 2)
    assert [c.number for c in galhano1994.lost_gain(pair, 1.0)] == pytest.approx(
        [1.0 - np.log10(2.5)] * 2
    )
    assert pair[0].measured_order() == pytest.approx(2.0)
    assert pair[0].roughness() == pytest.approx(0.0, abs=1e-12)
    assert pair[1].time_at_error(1e-4) == pytest.approx(2.0 * np.sqrt(1000.0))


def test_the_lost_gain_is_measured_at_equal_evaluations():
    """Half of the decades are lost if evaluations grow by a factor of 10 ** 0.25."""
    fixed, embedded = line("a", 2, 1.0, 1.0), line("b", 2, 0.1, 1.0)
    points = [p._replace(evaluations=p.evaluations * 10**0.25) for p in embedded.points]
    lost = galhano1994.lost_in_evaluations((fixed, embedded._replace(points=tuple(points))), 1.0)
    assert [c.number for c in lost] == pytest.approx([0.5] * 2)
    assert fixed.evaluations_at_error(1e-4) == pytest.approx(100.0)
    assert fixed.error_at_evaluations(100.0) == pytest.approx(1e-4)


def test_a_verdict_that_depends_on_10_percent_of_time_has_an_alternative():
    """An error ratio of 1.1 at equal time vanishes with times 10 % off."""
    pair = line("a", 2, 1.0, 1.0), line("b", 2, 1.0 / 1.21, 1.0)
    close = [c for factor in (1.0, 1.3) for c in galhano1994.at_equal_times(pair, 1.0, factor)]
    assert {c.holds for c in close} == {True, False}
    first, shifted = (
        report.Claim("k", "m", tuple(galhano1994.at_equal_times(pair, 1.0, s))) for s in (1.0, 1.3)
    )
    assert report.with_alternatives(first, [first]).verdict == "confirmed"
    assert (
        report.with_alternatives(first, [shifted]).verdict
        == "confirmed (refuted with times 10% off)"
    )


def test_plain_loops_compute_the_same_with_more_operations(findings, settings):
    problem = galhano1994.InitialValueProblem(
        "rr", settings.motions["rr"].state, np.array([20.0, 5.0]), 1, 9
    )
    y, slow, fast = settings.motions["rr"].state + 0.1, np.empty(4), np.empty(4)
    galhano1994.plain_right_hand_side(problem.kernels)(0.0, y, problem.efforts, slow)
    problem.kernels.right_hand_side(0.0, y, problem.efforts, fast)
    np.testing.assert_allclose(slow, fast, rtol=1e-12)
    assert [row.method for row in findings.customizing] == ["rk2", "rk4", *["rkf45"] * 4]
    (rk4,) = (row for row in findings.customizing if row.method == "rk4")
    # 4 evaluations; 3 of 6 entries below the diagonal and 4 of 4 weights are nonzero
    after = operation_report(problem.kernels.robot, problem.kernels.frame)["forward_dynamics"]
    assert rk4.customized_operations == 4 * after.after.total + 2 * 4 * 7
    assert rk4.plain_operations == 4 * after.before.total + 2 * 4 * 10
    assert rk4.operations_ratio > 2.0


def test_a_smaller_sigma_leads_to_smaller_steps(settings):
    start = settings.motions["rr"]
    steps = []
    for sigma in (0.9, 0.5):
        problem = galhano1994.InitialValueProblem(
            "rr", start.state, start.efforts, 2.0, 5000, sigma
        )
        engine = problem.engine("rkf45")
        steps.append(problem.trial(engine, 1e-6, problem.position_error, atol=1e-6).point.steps)
    assert 1.5 < steps[1] / steps[0] < 2.0  # 0.9 / 0.5


def test_the_command_prints_one_json_object(capsys):
    assert main(["study", "galhano1994", "table1", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert len(content["table1"]) == 25
    assert content["figures"] == content["claims"] == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["galhano94"], "paper must be a study, got 'galhano94'; did you mean 'galhano1994'?"),
        (
            ["galhano1994", "figg3"],
            "item must be one of galhano1994, got 'figg3'; did you mean 'fig3'?",
        ),
        (
            ["galhano1994", "table1", "--out", "/dev/null/x"],
            "--out must be a folder, got '/dev/null/x'",
        ),
    ],
)
def test_bad_input_is_rejected(arguments, words, capsys):
    assert main(["study", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_files_are_written_with_the_option_out(capsys, tmp_path):
    assert main(["study", "galhano1994", "table1", "--out", str(tmp_path / "new")]) == 0
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [
        "galhano1994.html",
        "table1.csv",
    ]


def test_only_files_require_matplotlib(monkeypatch, capsys, tmp_path):
    for module in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, module, None)
    assert main(["study", "galhano1994", "table1"]) == 0
    assert main(["study", "galhano1994", "table1", "--out", str(tmp_path)]) == 2
    assert "plots need matplotlib" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("steps:", "stepps:"), "has the unknown key 'stepps'; did you mean 'steps'?"),
        (("rkv67", "rkv76"), "fig5 must be defined names, got 'rkv76'; did you mean 'rkv"),
        (("[20.0, 5.0]", "[20.0]"), "efforts of rr must have shape (2,), got (1,)"),
        (("repeats: 15", "repeats: 0"), "repeats must be a positive integer, got 0"),
        (("duration: 2.0", "duration: -1"), "duration of rr must be above 0, got -1"),
    ],
)
def test_bad_settings_are_rejected(change, words, tmp_path):
    shipped = report.settings_file("galhano1994").read_text()
    file = tmp_path / "changed.yaml"
    file.write_text(shipped.replace(*change))
    with pytest.raises(md.ManipDynError) as error:
        report.read_settings("galhano1994", galhano1994.Settings, file)
    assert words in str(error.value)
    assert str(error.value).startswith(f"'{file}': ")


def test_every_embedded_method_of_table_1_is_in_a_figure():
    used = {
        name
        for figure in galhano1994.FAMILIES
        for name in report.read_settings("galhano1994", galhano1994.Settings).methods[figure]
    }
    assert used == set(galhano1994.PUBLISHED["stages"])
