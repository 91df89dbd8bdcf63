"""Study of Sandu et al. (2001): errors, tables, claims and files."""

import json
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.multibody import simulate_mechanism
from manip_dyn.studies import report, sandu2001


def cubic(t):
    return np.column_stack([t**3 - t, 2.0 * t**2])


def test_interpolation_is_exact_for_cubics_also_at_the_ends():
    t = np.linspace(0.0, 1.0, 11) ** 1.3
    states = sandu2001.pendulum.interpolated(
        sandu2001.Run(t, cubic(t), 10, 0), np.linspace(0.0, 1.0, 77)
    )
    np.testing.assert_allclose(states, cubic(np.linspace(0.0, 1.0, 77)), atol=1e-13)


def test_errors_are_the_maximum_and_the_root_mean_square():
    t = np.linspace(0.0, 1.0, 6)
    states = cubic(t)
    states[3, 0] += 0.3
    states[1, 1] -= 0.2
    exact = sandu2001.Run(np.linspace(0.0, 1.0, 51), cubic(np.linspace(0.0, 1.0, 51)), 50, 0)
    angle, rate = sandu2001.errors(sandu2001.Run(t, states, 5, 0), exact)
    assert (angle.largest, angle.at) == (pytest.approx(0.3), pytest.approx(0.6))
    assert angle.value == pytest.approx(0.6**3 - 0.6)
    assert rate.mean == pytest.approx(0.2 / np.sqrt(6))


CHOSEN = ("cartesian", "joint, rodas5p")


@pytest.fixture(scope="module")
def findings():
    return sandu2001.recompute("table1", runs=CHOSEN)


def test_rows_have_published_and_computed_errors(findings):
    assert {row.run for row in findings.errors} == set(CHOSEN)
    for row in findings.errors:
        published = dict(zip(sandu2001.TOLERANCES, sandu2001.PUBLISHED["position"], strict=True))
        assert row.published_max == published[row.tolerance]
        assert row.mean_error <= row.max_error < 4.0 * row.tolerance
        assert 0.0 < row.at_s <= sandu2001.pendulum.DURATION
        assert 3.6 < 100.0 * row.max_error / row.rel_percent < 6.4  # the angle at t*, rad
        assert row.corrected_max == row.published_max / (10.0 if row.tolerance > 1e-5 else 1.0)
        assert (row.status == "not above") == (row.max_error <= row.corrected_max)
        assert (row.mean_status == "not above") == (row.mean_error <= row.published_mean)


def test_the_angle_is_judged_without_the_misprint(findings):
    """Three of the largest errors are printed ten times too large."""
    status = {(row.run, row.tolerance): row.status for row in findings.errors}
    assert {status[CHOSEN[0], tolerance] for tolerance in (1e-2, 1e-3, 1e-4)} == {"above"}
    assert {status[CHOSEN[1], tolerance] for tolerance in sandu2001.TOLERANCES} == {"not above"}


def test_the_rate_is_as_exact_as_published_by_the_method_of_order_five():
    rates = sandu2001.recompute("table2", runs=CHOSEN[1:])
    assert [row.status for row in rates.errors] == ["not above"] * 4


def test_json_and_files(findings, tmp_path):
    content = json.loads(json.dumps(findings.content(), allow_nan=False))
    assert len(content["errors"]) == 8
    assert [file.name for file in findings.write(tmp_path)] == ["sandu2001_errors.csv"]
    assert "cartesian" in str(findings)


@pytest.fixture(scope="module")
def stored():
    runs = Path(md.__file__).parents[1] / "docs" / "studies"
    if not runs.is_dir():
        pytest.skip("not a checkout")
    return report.read_record(runs / "sandu2001.json")


def test_the_stored_run_is_reproduced(findings, stored):
    assert report.stale(stored, findings.record(0.0)) == []


# ------------------------------------------------------------------------- claims
def rows_of(stored, name, row):
    return [row(*values) for values in stored.tables[f"sandu2001_{name}"].rows]


def record_of(claims):
    """Return a record of the claims that have cases."""
    return sandu2001.Sandu2001({}, claims=tuple(claim for claim in claims if claim.cases)).record(
        0.0
    )


def test_stored_verdicts_follow_from_stored_tables(stored):
    times = rows_of(stored, "times", sandu2001.TimeRow)
    leads = tuple(sandu2001.car.leads(tuple(times)))
    assert report.stale(stored, sandu2001.Sandu2001({}, leads=leads).record(0.0)) == []
    judged = (
        *sandu2001.pendulum_claims.claims(
            rows_of(stored, "errors", sandu2001.ErrorRow),
            rows_of(stored, "matrices", sandu2001.MatrixRow),
            rows_of(stored, "fit", sandu2001.FitRow),
            rows_of(stored, "squeezer", sandu2001.Point),
        ),
        *sandu2001.repartition.claims(
            rows_of(stored, "repartition", sandu2001.RepartitionRow),
        ),
        *sandu2001.car_claims.claims(times, rows_of(stored, "leads", sandu2001.LeadRow), {}),
    )
    assert sum(claim.cases > 0 for claim in judged) > 25
    assert report.stale(stored, record_of(judged)) == []


def test_stored_verdicts_are_reproduced(stored):
    judged = (
        *sandu2001.coefficients.claims(),
        *sandu2001.pendulum_claims.motion_claims(sandu2001.reference()),
        *sandu2001.car_claims.car_claims(2e-3),
    )
    assert all(claim.cases for claim in judged)
    assert report.stale(stored, record_of(judged)) == []


def test_every_claim_has_a_verdict_and_costs_are_counted(stored):
    assert {row["key"] for row in stored.claims} == set(sandu2001.PUBLISHED["claims"])
    assert {row["verdict"].split(" (")[0] for row in stored.claims} <= {
        *("confirmed", "partly confirmed", "refuted", "not reproducible", "by construction")
    }
    assert {row["key"]: row["counted"] for row in stored.claims if row.get("counted")} == {
        "faster": report.SECONDS,
        "quarter": report.SECONDS,
        "explicit cost": report.AT_THE_LIMIT,
    }


def test_a_wrong_digit_breaks_the_conditions_of_order():
    right = sandu2001.coefficients.printed(negative=True)
    assert max(map(abs, sandu2001.coefficients.conditions(right, right.b).values())) < 1e-23
    wrong = [*right.b[:3], right.b[3] + Fraction(1, 10**18)]
    assert max(map(abs, sandu2001.coefficients.conditions(right, wrong).values())) > 1e-19
    literal = sandu2001.coefficients.printed()
    failing = sandu2001.coefficients.conditions(literal, literal.b)
    assert {name for name, left in failing.items() if abs(left) > 0.1} == {
        *("36b", "36d", "36f", "36h")
    }


@pytest.mark.parametrize(("before", "after", "holds"), [(0.1, 0.01, True), (0.01, 0.1, False)])
def test_steps_are_compared_around_both_hits(before, after, holds):
    """An artificial motion with different steps before and after each hit."""
    hits = sandu2001.car.hmmwv().switches[::2]
    t, ends = [0.0], [(hits[0], before), (hits[0] + 0.2, after), (hits[1], before)]
    for end, step in (*ends, (hits[1] + 0.2, after), (5.0, before)):
        t += [*np.arange(t[-1] + step, end - 1e-9, step), end]
    t = np.array(t)
    work = SimpleNamespace(steps=1, failures=0, evaluations=4)
    motion = SimpleNamespace(t=t, q=np.zeros((len(t), 3)), statistics=work)
    claims = sandu2001.car_claims.claims([], [], {"artificial": motion})
    shrinks, grows = (next(c for c in claims if c.key == key) for key in ("shrinks", "grows"))
    assert [case.holds for case in shrinks.evidence] == [holds] * 2
    assert [case.holds for case in grows.evidence] == [holds]
    status = {claim.key: claim.status for claim in claims}
    assert status["three evaluations"] == "refuted"
    assert status["faster"] == "not measured"


# ----------------------------------------------------------------- pendulum and car
def test_the_pendulum_of_the_study_is_consistent():
    mechanism = sandu2001.pendulum.cartesian_pendulum()
    assert mechanism.freedoms == 2
    assert sandu2001.pendulum.DURATION == 2.0


def test_the_factors_of_eq_16_are_settings(tmp_path):
    settings = report.read_settings("sandu2001", sandu2001.Settings)
    control = settings.control("scaled")
    assert (control.controller, control.norm, control.estimate) == ("paper", "rms", "scaled")
    assert (control.fac, control.facmin, control.facmax) == (0.9, 0.1, 5.0)
    file = tmp_path / "mine.yaml"
    file.write_text("fac: 0.9\nfacmin: -0.1\nfacmax: 5.0\nexplicit_duration: 0.01\n")
    with pytest.raises(md.ManipDynError, match=r"mine.yaml': facmin .*-0.1"):
        report.read_settings("sandu2001", sandu2001.Settings, file)


def test_step_ratios_are_within_the_factors_of_eq_16():
    control = md.StepControl("paper", "rms", facmax=1.5, fac=0.5)
    motions = [
        simulate_mechanism(
            sandu2001.pendulum.cartesian_pendulum(), 0.5, rtol=1e-3, control=step_control
        )
        for step_control in (control, md.StepControl("paper", "rms"))
    ]
    ratios = [np.diff(m.t)[1:] / np.diff(m.t)[:-1] for m in motions]
    assert ratios[0].max() <= 1.5 * (1 + 1e-9) < ratios[1].max() <= 5.0 * (1 + 1e-9)
    assert motions[0].statistics.failures <= motions[1].statistics.failures
    assert motions[0].statistics.steps > motions[1].statistics.steps


def test_the_published_points_are_in_the_printed_range():
    times, sizes = sandu2001.pendulum.published_points()
    np.testing.assert_allclose(sizes[[0, 3, 7]], [4.307, 4.877, 9.524], atol=1e-3)
    assert sizes[:4].min() > 4.0
    assert sizes[:4].max() < 6.0
    assert sizes[4:].max() < 10.0
    row = sandu2001.pendulum.FitRow("angle", 0.6, 4.3, 4.2, 4.2, -0.1, "differs")
    fit = sandu2001.pendulum.Fit((1.0, 0.2), 9.8, (row,), (3.7, 6.3), (-9.7, 6.1))
    assert fit.status == "not reproducible"
    assert fit._replace(rows=(row._replace(status="close"),)).status == "reproduced"
    assert {row.status for row in fit.table} >= {"differs", "not reproducible"}
    assert times[3] == 1.065146


def test_the_w_method_has_its_order_with_any_jacobian():
    exact = sandu2001.reference()
    rows = list(sandu2001.pendulum.w_method_rows(exact, (1e-3,), lambda line: None))
    assert [(row.method, row.jacobian) for row in rows] == [
        (method, name)
        for method in ("rosenbrock_w", "rosenbrock_nystrom")
        for name in sandu2001.pendulum.SCALES
    ]
    w, nystrom = rows[:3], rows[3:]
    assert max(row.angle_error for row in w) < 5e-3
    assert nystrom[0].steps < w[0].steps / 5  # order 4 with the exact Jacobian
    assert min(row.angle_error for row in nystrom[1:]) > 2 * nystrom[0].angle_error


def time_row(duration, tolerance, evaluations, published):
    return sandu2001.TimeRow(
        "table4", "paper", duration, tolerance, published, 1.0, 1, evaluations, ""
    )  # fmt: skip


def test_growth_is_measured_in_evaluations():
    times = tuple(
        time_row(d, tol, n, p)
        for d, tol, n, p in ((2, 1e-2, 10, 2.0), (4, 1e-2, 20, 3.0), (2, 1e-5, 50, 4.0))
    )
    rows = list(sandu2001.car.growth_rows((*times, time_row(4, 1e-5, 60, 6.0))))
    growth = {row.growth: (row.published_time, row.evaluations) for row in rows}
    assert growth == {
        "from 2 to 4 s at 0.01": (1.5, 2.0),
        "from 2 to 4 s at 1e-05": (1.5, 1.2),
        "from 0.01 to 1e-05 over 4 s": (2.0, 3.0),
    }


def test_stability_limits_adams_steps_on_the_bump_as_in_the_paper():
    """Steps are between 1e-6 and 1e-5 s at every tolerance."""
    settings = sandu2001.Settings(0.9, 0.1, 5.0, 2e-3)
    rows = list(sandu2001.car.explicit_rows((1e-2, 1e-5), settings, lambda line: None))
    steps = [4.0 / row.steps for row in rows if row.duration_s == 4]
    assert 1e-6 < min(steps) < max(steps) < 1e-5
    assert max(steps) < 1.1 * min(steps)


def test_tables_and_charts_have_different_names():
    """A table with the name of a chart would not be stored."""
    point = sandu2001.Point("rodas5p", 1e-3, 0.1, 1.0, 100)
    charts = (sandu2001._squeezer_chart((point,)),)
    findings = sandu2001.Sandu2001({}, squeezer=(point,), charts=charts)
    assert list(findings.record(0.0).tables) == ["sandu2001_squeezer"]
    assert len({table.name for table in findings.csv_tables()}) == 2


def test_the_squeezing_mechanism_reaches_the_end_state_of_the_test_set():
    start, end = (
        sandu2001.squeezer.positions(sandu2001.squeezer.ABSOLUTE @ q)
        for q in (sandu2001.squeezer.START, sandu2001.squeezer.END)
    )
    assert max(np.abs(start.loops).max(), np.abs(end.loops).max()) < 1e-15
    mass, gradients, right = sandu2001.squeezer.planar(sandu2001.squeezer.START, np.zeros(7))
    matrix = np.block([[mass, gradients.T], [gradients, np.zeros((6, 6))]])
    first = np.linalg.solve(matrix, right)  # as in the test set
    np.testing.assert_allclose(first[:2], [14222.4439199541, -10666.8329399656], rtol=1e-12)
    np.testing.assert_allclose(first[7:9], [98.5668703962411, -6.12268834425567], rtol=1e-11)
    mechanism = sandu2001.squeezer.squeezer()
    assert (mechanism.freedoms, len(mechanism.redundant)) == (1, 9)
    motion = simulate_mechanism(mechanism, sandu2001.squeezer.DURATION, rtol=1e-8)
    assert sandu2001.squeezer.error_of(sandu2001.squeezer.absolute_angles(motion.q[-1])) < 1e-7
    radau = sandu2001.squeezer.by_radau(1e-6)
    assert sandu2001.squeezer.error_of(sandu2001.squeezer.ABSOLUTE @ radau[0][:7]) < 1e-5
