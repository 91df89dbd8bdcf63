"""Study of Sariyildiz et al. (2011): figures, claims and files, with reduced settings."""

import csv
import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from pictures import save_roughly

import manip_dyn as md
from manip_dyn.cli import main
from manip_dyn.studies import report, sariyildiz2011


@md.compiled
def growth(t, y, p, out):
    """Write the rate of y = exp(sin t)."""
    out[0] = y[0] * np.cos(t)


@pytest.fixture(scope="module")
def settings():
    shipped = report.read_settings("sariyildiz2011", sariyildiz2011.Settings)
    circles = {name: shipped.circles[name] for name in shipped.shown_circles}
    crossing = {shipped.singular.shown: shipped.singular.circles[shipped.singular.shown]}
    return replace(
        shipped,
        circles=circles,
        gains=(0.1, 2.0),
        charted_gains=(0.1, 1.0, 2.9),
        offsets=(0.02,),
        orientation_errors=("log",),
        order_steps=(0.2, 0.1, 0.05),
        singular=replace(shipped.singular, gains=(2.0,), circles=crossing),
        repeats=1,
        slice=1e-6,
    )


@pytest.fixture(scope="module")
def runs(settings):
    """Runs without the search for other starting postures of lost paths."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules["manip_dyn.clik.tracking"], "_reachability", lambda *_: "")
        yield sariyildiz2011.Runs(
            settings,
            sariyildiz2011.PUBLISHED["linear_speed_m_s"],
            sariyildiz2011.PUBLISHED["angular_speed_rad_s"],
        )


@pytest.fixture(scope="module")
def published():
    """Published values at two sampling periods; 1 ms takes long."""
    return {**sariyildiz2011.PUBLISHED, "sampling_s": [1.0, 0.1]}


@pytest.fixture(scope="module")
def findings(settings, published, runs):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("manip_dyn.studies.sariyildiz2011.PUBLISHED", published)
        patch.setattr("manip_dyn.studies.sariyildiz2011.Runs", lambda *_: runs)
        return sariyildiz2011.recompute("all", settings)


def table(findings, name):
    (table,) = (table for table in findings.tables if table.name == name)
    return table.content()["rows"]


def verdicts(findings, key):
    return [claim for claim in findings.claims if claim.key == key]


# --------------------------------------------------------------------------- the claims
def test_printed_errors_hold_around_the_base_axis_only(runs):
    """The verdict depends on a circle that the paper does not print."""
    for method, printed in sariyildiz2011.PUBLISHED["position_error_at_100ms_m"].items():
        for gain in (0.2, 2.0):
            run = runs.run(sariyildiz2011.Case("around_base", method, 0.1, gain))
            assert max(run.first, run.steady) <= printed
    assert runs.run(sariyildiz2011.Case("beside_base", "rk2", 0.1, 2.0)).steady > 1e-5
    assert runs.run(sariyildiz2011.Case("beside_base", "rk4", 0.1, 2.0)).steady > 1e-8


def test_euler_loses_the_path_at_1_s_with_weak_feedback_off_the_base_axis_only(runs):
    """The drift grows to the order of v w h / (2 K); the linear stability limit is larger."""
    lost = runs.run(sariyildiz2011.Case("beside_base", "rk1", 1.0, 0.1))
    assert not lost.stable
    assert lost.steady == pytest.approx(0.1 * 0.2 / (2.0 * 0.1), rel=0.4)
    assert runs.run(sariyildiz2011.Case("beside_base", "euler_trapezoidal", 1.0, 0.1)).stable
    assert runs.run(sariyildiz2011.Case("around_base", "rk1", 1.0, 0.1)).stable
    for method in sariyildiz2011.SIX:
        past = 1.06 * md.METHODS[method].stability_interval
        assert not runs.run(sariyildiz2011.Case("around_base", method, 1.0, past)).stable, method


def test_steady_joint_rates_make_adams_the_most_accurate(runs):
    """On the circle about the base axis the error of rk4 is that of feedback in its stages."""
    adams, runge = (
        runs.run(sariyildiz2011.Case("around_base", m, 0.1, 2.0)).steady for m in ("abm4", "rk4")
    )
    assert runge > 100.0 * adams
    assert runge > 30.0 * runs.run(sariyildiz2011.Case("around_base", "rk4", 0.1, 0.1)).steady
    assert runs.run(sariyildiz2011.Case("beside_base", "rk4", 0.1, 0.1)).steady < 0.1 * min(
        runs.run(sariyildiz2011.Case("beside_base", m, 0.1, 0.1)).steady
        for m in sariyildiz2011.SIX
        if m != "rk4"
    )


def test_damping_bounds_errors_and_speeds_near_singular_postures(runs):
    """Speeds are those of an arm without limits."""
    shown = runs.settings.singular.shown
    plain, damped = (
        [
            runs.run(sariyildiz2011.Case(shown, m, 0.1, 2.0, inverse=inverse, laps=1))
            for m in sariyildiz2011.SIX
        ]
        for inverse in ("pseudo_inverse", "filtered")
    )
    assert max(run.speed for run in plain) > 1.0
    assert all(run.near > 10.0 * run.before for run in plain)
    assert all(run.speed < 1.0 and run.near < 0.004 for run in damped)
    assert damped[sariyildiz2011.SIX.index("rk4")].last < 1e-6


def test_every_method_has_its_order(findings):
    for row in table(findings, "orders"):
        assert row["measured"] == pytest.approx(row["order"], abs=0.3), row


def test_measured_stability_limits_match_the_linear_limits(findings, settings):
    """The resolution is that of the gains of the chart."""
    for row in table(findings, "gain"):
        beyond = min(g for g in settings.charted_gains if g > row["linear limit of K h"])
        for circle in settings.shown_circles:
            assert row[f"{circle}, 1 s"] == beyond, row


def test_costs_count_evaluations(findings):
    counts = [row["evaluations"] for row in table(findings, "cost")]
    assert counts == [1.0, 2.0, 4.0, 2.0, pytest.approx(1.0, abs=0.05), pytest.approx(2, abs=0.05)]
    assert all(row["time, us"] > 0.0 for row in table(findings, "cost"))


def test_every_claim_has_numbers_and_a_verdict(findings):
    assert {claim.key for claim in findings.claims} == set(sariyildiz2011.PUBLISHED["claims"])
    for claim in findings.claims:
        if not claim.cases:  # no singular circle of these settings has small errors
            assert claim.status == "not measured"
            continue
        assert claim.status in ("confirmed", "partly confirmed", "refuted")
        assert claim.least <= claim.number <= claim.most
        assert len(claim.holds) + len(claim.exceptions) == claim.cases
        assert claim.fraction == len(claim.holds) / claim.cases


def test_verdicts_follow_from_the_cases():
    cheap = {m: 1e-6 * (1 + k) for k, m in enumerate(("rk1", "rk2", "ab4", "rk4"))}
    counts = {"rk1": 1.0, "rk2": 2.0, "ab4": 1.02, "rk4": 4.0}
    ratios, starts = {1e-6: [("a", 2.0), ("b", 0.5)]}, {1.0: [("a", 2.0)], 0.1: [("a", 0.9)]}

    def judged(costs):
        return {
            claim.measure: claim
            for claim in sariyildiz2011.claims([], costs, [], {}, counts, ratios, starts, [])
        }

    judged_claims = judged(cheap)
    assert (
        judged_claims["ratio of CPU times per step, another method / Euler; above 1"].verdict
        == "confirmed"
    )
    assert (
        judged_claims["ratio of evaluations per step, another method / Euler; above 1"].status
        == "partly confirmed"
    )
    assert judged_claims["ratio of CPU times per step, rk4 / Euler; below 1.5"].status == "refuted"
    stable = "error of Euler trapezoidal at 1 s, m; the path is not lost and errors do not grow"
    assert judged_claims[stable].cases == 0
    costs = (
        "ratio of evaluations for an error of 1e-06 m, better of rk2 and rk4 / "
        "better of ab4 and abm4; "
    )
    dearer = judged_claims[f"{costs}above 1"]
    assert dearer.fraction == judged_claims[f"{costs}at most 1"].fraction == 0.5
    low = "error ratio, ab4 / abm4, both started by lower orders, 100 ms; above 1"
    assert judged_claims[low].status == "refuted"
    judged_claims = judged(cheap | {"rk2": 9e-6, "ab4": 9e-6})
    assert (
        judged_claims["ratio of CPU times per step, rk4 / another method; above 1"].status
        == "refuted"
    )
    judged_claims = judged(cheap | {"rk2": 1.05e-6})
    verdict = judged_claims["ratio of CPU times per step, another method / Euler; above 1"].verdict
    assert verdict == "confirmed (partly confirmed with times 10% off)"


def test_the_papers_start_of_adams_methods_limits_their_order():
    """y' = y cos t: the first step is Euler's (or Heun's) with an error of h^2 (h^3)."""
    for name, first, order in (("ab4_rising", 1, 2.0), ("abm4_rising", 2, 3.0)):
        method, errors = sariyildiz2011.RISING[name], []
        for steps in (100, 200):
            h = 1.0 / steps
            solution = md.integrate(growth, (0.0, 1.0), [1.0], method=method, step=h)
            errors.append(abs(solution.y_last[0] - np.exp(np.sin(1.0))))
            euler = 1.0 + h
            heun = 1.0 + 0.5 * h * (1.0 + euler * np.cos(h))
            assert solution.y[1, 0] == pytest.approx(euler if first == 1 else heun, rel=1e-14)
        assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.2)


def test_evaluations_are_interpolated_between_runs():
    points = [(10.0, 1e-2), (100.0, 1e-4), (1000.0, 1e-6)]
    assert sariyildiz2011.evaluations_to(points, 1e-3) == pytest.approx(10.0**1.5)
    assert sariyildiz2011.evaluations_to(points, 1.0) == 10.0
    assert sariyildiz2011.evaluations_to(points, 1e-9) == np.inf


# ---------------------------------------------------------------------------- the runs
def test_runs_have_no_limits_by_default(runs):
    assert np.isinf(runs.unlimited.v_max).all()
    shown = runs.settings.singular.shown
    limited = runs.run(sariyildiz2011.Case(shown, "rk1", 0.1, 2.0, limited=True, laps=1))
    assert limited.speed <= 1.0 + 1e-12


def test_a_path_clock_that_runs_backwards_has_no_drift(runs):
    """Speed limits stop ab4 at once."""
    beyond = {
        "far": report.read_settings("sariyildiz2011", sariyildiz2011.Settings).singular.circles[
            "far_beyond_reach"
        ]
    }
    limited = sariyildiz2011.Runs(
        replace(runs.settings, circles=runs.settings.circles | beyond), 0.1, 0.2
    )
    done = limited.tracking(sariyildiz2011.Case("far", "ab4", 0.1, 2.0, limited=True, laps=1))
    assert np.diff(done.path_time).min() <= 0.0
    assert done.drift is None
    assert np.all(np.isfinite(done.q))


def test_an_initial_offset_vanishes_after_a_lap(runs):
    off = runs.run(sariyildiz2011.Case("beside_base", "rk4", 0.1, 1.0, offset=0.02))
    assert off.position[0] > 0.01
    assert off.steady == pytest.approx(
        runs.run(sariyildiz2011.Case("beside_base", "rk4", 0.1, 1.0)).steady, rel=0.3
    )


def test_stored_errors_are_the_largest_of_their_intervals(runs):
    case = sariyildiz2011.Case("beside_base", "rk2", 0.1, 0.1)
    assert max(runs.run(case).position) == runs.tracking(case).position_error.max()
    assert runs.run(case) is runs.run(case)


# --------------------------------------------------------------------------- the output
def test_json_csv_and_pictures_are_complete(findings, tmp_path, monkeypatch):
    save_roughly(monkeypatch, "fig9")
    content = json.loads(json.dumps(findings.content(), allow_nan=False))
    assert [chart.name for chart in findings.charts] == [
        *sariyildiz2011.FIGURES,
        *("gain", "circles", "orders", "efficiency"),
    ]
    drawn = ("fig4", "fig7", "fig9", "circles")  # one of each kind, because drawing is slow
    few = replace(
        findings, charts=tuple(chart for chart in findings.charts if chart.name in drawn)
    )
    files = {file.name for file in few.write(tmp_path)}
    assert {f"{name}.{kind}" for name in drawn for kind in ("png", "svg", "csv")} < files
    assert {f"{table_.name}_table.csv" for table_ in findings.tables} | {"claims.csv"} < files
    assert (tmp_path / "fig9.png").read_bytes().startswith(b"\x89PNG")
    with (tmp_path / "singular_table.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["rk4"]) for row in rows] == [
        row["rk4"] for row in table(findings, "singular")
    ]
    for claim in content["claims"]:
        assert claim["published"] == sariyildiz2011.PUBLISHED["claims"][claim["key"]]
    for chart in content["charts"]:
        assert all(panel["lines"] for panel in chart["panels"]), chart["name"]


def test_the_text_shows_published_and_computed_values(findings):
    text = str(findings)
    assert 'published: "explicit Euler is unstable at 1 s"' in text
    assert "Figures 15 to 18" in text


def test_figures_4_to_6_show_the_same_motion(findings):
    path, velocities, positions = findings.charts[:3]
    for panel in path.panels:
        desired, actual = panel.lines
        assert np.abs(np.subtract(desired.x, actual.x)).max() < 1e-6
        assert np.hypot(np.ptp(desired.x), np.ptp(desired.y)) == pytest.approx(2**0.5, rel=1e-3)
    for velocity, position in zip(
        velocities.panels[0].lines, positions.panels[0].lines, strict=True
    ):
        np.testing.assert_allclose(np.gradient(position.y, 0.1)[1:-1], velocity.y[1:-1], atol=1e-4)


def test_the_command_prints_one_json_object(capsys):
    assert main(["study", "sariyildiz2011", "fig5", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    (chart,) = content["charts"]
    assert [line["label"] for line in chart["panels"][0]["lines"]][:2] == ["S1", "S2"]


def test_an_unknown_item_is_rejected(capsys):
    assert main(["study", "sariyildiz2011", "fig19"]) == 2
    assert "item must be one of sariyildiz2011, got 'fig19'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("gain: 0.2", "gian: 0.2"), "has the unknown key 'gian'; did you mean"),
        (("gain: 0.2", "gain: 0"), "gain must be above 0, got 0 1/s"),
        (("laps: 3", "laps: 2"), "laps must be at least 3 to measure growth, got 2"),
        (
            ("[around_base, beside_base]", "[around_bas]"),
            "shown_circles must be defined names, got 'around_bas'; did you",
        ),
        (
            ("center: [0.0, 0.4, 0.6]", "center: [0.4]"),
            "center of beside_base must have shape (3,), got (1,)",
        ),
        (
            ("follow_tangent: true", "follow_tangent: 1"),
            "follow_tangent of around_base_tangent must be true or false",
        ),
        (
            ("[quaternion, log]", "[angle]"),
            "orientation_errors must be defined names, got 'angle'",
        ),
        (("gains: [2.0, 0.2]", "gains: []"), "gains of singular must be a non-empty list, got []"),
        (("posture: [2.69,", "posture: [.nan,"), "posture of beside_base"),
    ],
)
def test_bad_settings_are_rejected(change, words, tmp_path):
    shipped = report.settings_file("sariyildiz2011").read_text()
    file = tmp_path / "changed.yaml"
    file.write_text(shipped.replace(*change))
    with pytest.raises(md.ManipDynError) as error:
        report.read_settings("sariyildiz2011", sariyildiz2011.Settings, file)
    assert words in str(error.value)
    assert str(error.value).startswith(f"'{file}': ")
