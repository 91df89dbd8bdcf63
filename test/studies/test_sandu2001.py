"""Sandu et al. (2001) recomputed: errors as defined, tables complete, files written."""

import json
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.multibody import simulate_mechanism
from manip_dyn.studies import sandu2001
from manip_dyn.studies.report.claims import AT_THE_LIMIT, SECONDS
from manip_dyn.studies.report.findings import read_record, stale
from manip_dyn.studies.report.settings import read_settings
from manip_dyn.studies.sandu2001 import (
    Sandu2001,
    car,
    car_claims,
    coefficients,
    pendulum,
    pendulum_claims,
    squeezer,
)
from manip_dyn.studies.sandu2001.findings import (
    PUBLISHED,
    ErrorRow,
    FitRow,
    LeadRow,
    MatrixRow,
    Point,
    TimeRow,
)
from manip_dyn.studies.sandu2001.pendulum import (
    DURATION,
    Run,
    cartesian_pendulum,
    errors,
    interpolated,
)


def cubic(t):
    return np.column_stack([t**3 - t, 2.0 * t**2])


def test_interpolation_is_exact_for_cubics_also_at_the_ends():
    t = np.linspace(0.0, 1.0, 11) ** 1.3
    found = interpolated(Run(t, cubic(t), 10, 0), np.linspace(0.0, 1.0, 77))
    np.testing.assert_allclose(found, cubic(np.linspace(0.0, 1.0, 77)), atol=1e-13)


def test_errors_are_the_largest_and_the_root_mean_square():
    t = np.linspace(0.0, 1.0, 6)
    states = cubic(t)
    states[3, 0] += 0.3
    states[1, 1] -= 0.2
    exact = Run(np.linspace(0.0, 1.0, 51), cubic(np.linspace(0.0, 1.0, 51)), 50, 0)
    angle, rate = errors(Run(t, states, 5, 0), exact)
    assert (angle.largest, angle.at) == (pytest.approx(0.3), pytest.approx(0.6))
    assert angle.value == pytest.approx(0.6**3 - 0.6)
    assert rate.mean == pytest.approx(0.2 / np.sqrt(6))


CHOSEN = ("cartesian", "joint, rodas5p")


@pytest.fixture(scope="module")
def found():
    return sandu2001.recompute("table1", runs=CHOSEN)


def test_published_and_computed_stand_side_by_side(found):
    assert {row.run for row in found.errors} == set(CHOSEN)
    for row in found.errors:
        published = dict(zip(sandu2001.TOLERANCES, sandu2001.PUBLISHED["position"], strict=True))
        assert row.published_max == published[row.tolerance]
        assert row.mean_error <= row.max_error < 4.0 * row.tolerance
        assert 0.0 < row.at_s <= DURATION
        assert 3.6 < 100.0 * row.max_error / row.rel_percent < 6.4  # the angle at t*, rad
        assert (row.status == "not above") == (row.max_error <= row.published_max)


def test_the_angle_is_as_exact_as_published(found):
    """In the paper's own coordinates with its own step control, and by RODAS5P."""
    assert {row.status for row in found.errors} == {"not above"}


def test_the_rate_is_as_exact_as_published_by_the_method_of_order_five():
    rates = sandu2001.recompute("table2", runs=CHOSEN[1:])
    assert [row.status for row in rates.errors] == ["not above"] * 4


def test_json_and_files(found, tmp_path):
    content = json.loads(json.dumps(found.content(), allow_nan=False))
    assert len(content["errors"]) == 8
    assert [file.name for file in found.write(tmp_path)] == ["sandu2001_errors.csv"]
    assert "cartesian" in str(found)


@pytest.fixture(scope="module")
def kept():
    runs = Path(md.__file__).parents[1] / "docs" / "studies"
    if not runs.is_dir():
        pytest.skip("not a checkout")
    return read_record(runs / "sandu2001.json")


def test_the_kept_run_says_the_same(found, kept):
    assert stale(kept, found.record(0.0)) == []


# ------------------------------------------------------------------------- claims
def rows_of(kept, name, row):
    return [row(*each) for each in kept.tables[f"sandu2001_{name}"].rows]


def told(claims):
    """Return a record of the claims that have cases, as strings."""
    return Sandu2001({}, claims=tuple(each for each in claims if each.cases)).record(0.0)


def test_the_kept_verdicts_are_those_of_the_kept_tables(kept):
    times = rows_of(kept, "times", TimeRow)
    leads = tuple(car.leads(tuple(times)))
    assert stale(kept, Sandu2001({}, leads=leads).record(0.0)) == []
    judged = (
        *pendulum_claims.claims(
            rows_of(kept, "errors", ErrorRow),
            rows_of(kept, "matrices", MatrixRow),
            rows_of(kept, "fit", FitRow),
            rows_of(kept, "squeezer", Point),
        ),
        *car_claims.claims(times, rows_of(kept, "leads", LeadRow), {}),
    )
    assert sum(each.cases > 0 for each in judged) > 25
    assert stale(kept, told(judged)) == []


def test_the_kept_verdicts_come_out_again(kept):
    judged = (
        *coefficients.claims(),
        *pendulum_claims.motion_claims(sandu2001.reference()),
        *car_claims.car_claims(2e-3),
    )
    assert all(each.cases for each in judged)
    assert stale(kept, told(judged)) == []


def test_every_claim_is_judged_and_costs_are_counted(kept):
    """Of those in seconds load could flip none, or it is said."""
    assert {row["key"] for row in kept.claims} == set(PUBLISHED["claims"])
    assert {row["verdict"] for row in kept.claims} <= {
        *("confirmed", "partly confirmed", "refuted", "not reproducible")
    }
    assert {row["key"]: row["counted"] for row in kept.claims if row.get("counted")} == {
        "faster": SECONDS,
        "explicit cost": AT_THE_LIMIT,
    }


def test_a_wrong_digit_breaks_the_conditions_of_order():
    right = coefficients.printed(negative=True)
    assert max(map(abs, coefficients.conditions(right, right.b).values())) < 1e-23
    wrong = [*right.b[:3], right.b[3] + Fraction(1, 10**18)]
    assert max(map(abs, coefficients.conditions(right, wrong).values())) > 1e-19
    to_the_letter = coefficients.printed()
    failing = coefficients.conditions(to_the_letter, to_the_letter.b)
    assert {name for name, left in failing.items() if abs(left) > 0.1} == {
        *("36b", "36d", "36f", "36h")
    }


@pytest.mark.parametrize(("before", "after", "holds"), [(0.1, 0.01, True), (0.01, 0.1, False)])
def test_steps_are_compared_around_both_hits(before, after, holds):
    """A made-up motion whose steps are some before each hit, others after it and at its end."""
    hits = car.hmmwv().switches[::2]
    t, ends = [0.0], [(hits[0], before), (hits[0] + 0.2, after), (hits[1], before)]
    for end, step in (*ends, (hits[1] + 0.2, after), (5.0, before)):
        t += [*np.arange(t[-1] + step, end - 1e-9, step), end]
    t = np.array(t)
    motion = SimpleNamespace(t=t, q=np.zeros((len(t), 3)), steps=1, failures=0, evaluations=4)
    claims = car_claims.claims([], [], {"made up": motion})
    shrinks, grows = (next(c for c in claims if c.key == key) for key in ("shrinks", "grows"))
    assert [each.holds for each in shrinks.evidence] == [holds] * 2
    assert [each.holds for each in grows.evidence] == [holds]
    status = {each.key: each.status for each in claims}
    assert status["three evaluations"] == "refuted"
    assert status["faster"] == "not measured"


# ----------------------------------------------------------------- pendulum and car
def test_the_pendulum_of_the_study_is_consistent():
    mechanism = cartesian_pendulum()
    assert mechanism.freedoms == 2
    assert DURATION == 2.0


def test_the_factors_of_eq_16_are_settings(tmp_path):
    settings = read_settings("sandu2001", sandu2001.Settings)
    control = settings.control("scaled")
    assert (control.controller, control.norm, control.estimate) == ("paper", "rms", "scaled")
    assert (control.fac, control.facmin, control.facmax) == (0.9, 0.1, 5.0)
    file = tmp_path / "mine.yaml"
    file.write_text("fac: 0.9\nfacmin: -0.1\nfacmax: 5.0\nexplicit_duration: 0.01\n")
    with pytest.raises(md.ManipDynError, match=r"mine.yaml': facmin is -0.1"):
        read_settings("sandu2001", sandu2001.Settings, file)


def test_steps_grow_and_shrink_by_no_more_than_the_factors():
    """Eq. 16 on the pendulum: with facmax 1.5 no step is more than half as long again."""
    control = md.StepControl("paper", "rms", facmax=1.5, fac=0.5)
    motions = [
        simulate_mechanism(cartesian_pendulum(), 0.5, rtol=1e-3, control=each)
        for each in (control, md.StepControl("paper", "rms"))
    ]
    ratios = [np.diff(m.t)[1:] / np.diff(m.t)[:-1] for m in motions]
    assert ratios[0].max() <= 1.5 * (1 + 1e-9) < ratios[1].max() <= 5.0 * (1 + 1e-9)
    assert motions[0].statistics.failures <= motions[1].statistics.failures
    assert motions[0].statistics.steps > motions[1].statistics.steps


def test_the_published_points_are_in_the_printed_range():
    times, sizes = pendulum.published_points()
    np.testing.assert_allclose(sizes[[0, 3, 7]], [4.307, 4.877, 9.524], atol=1e-3)
    assert sizes[:4].min() > 4.0
    assert sizes[:4].max() < 6.0
    assert sizes[4:].max() < 10.0
    row = pendulum.FitRow("angle", 0.6, 4.3, 4.2, 4.2, -0.1, "differs")
    found = pendulum.Fit((1.0, 0.2), 9.8, (row,), (3.7, 6.3), (-9.7, 6.1))
    assert found.status == "not reproducible"
    assert found._replace(rows=(row._replace(status="close"),)).status == "reproduced"
    assert {each.status for each in found.table} >= {"differs", "not reproducible"}
    assert times[3] == 1.065146


def test_the_w_method_keeps_its_order_with_any_jacobian():
    """Errors at half the tolerance's exponent; the other method's are larger with a wrong one."""
    exact = sandu2001.reference()
    rows = list(pendulum.w_method_rows(exact, (1e-3,), lambda line: None))
    assert [(row.method, row.jacobian) for row in rows] == [
        (method, name)
        for method in ("rosenbrock_w", "rosenbrock_nystrom")
        for name in pendulum.SCALES
    ]
    w, nystrom = rows[:3], rows[3:]
    assert max(row.angle_error for row in w) < 5e-3
    assert nystrom[0].steps < w[0].steps / 5  # order 4 with the exact one
    assert min(row.angle_error for row in nystrom[1:]) > 2 * nystrom[0].angle_error


def time_row(duration, tolerance, evaluations, published):
    return TimeRow(
        "table4", "paper", duration, tolerance, published, 1.0, 1, evaluations, ""
    )  # fmt: skip


def test_growth_is_told_in_evaluations():
    times = tuple(
        time_row(d, tol, n, p)
        for d, tol, n, p in ((2, 1e-2, 10, 2.0), (4, 1e-2, 20, 3.0), (2, 1e-5, 50, 4.0))
    )
    rows = list(car.growth_rows((*times, time_row(4, 1e-5, 60, 6.0))))
    told = {row.growth: (row.published_time, row.evaluations) for row in rows}
    assert told == {
        "from 2 to 4 s at 0.01": (1.5, 2.0),
        "from 2 to 4 s at 1e-05": (1.5, 1.2),
        "from 0.01 to 1e-05 over 4 s": (2.0, 3.0),
    }


def test_adams_steps_on_the_bump_are_the_papers():
    """Between 1e-6 and 1e-5 s at every tolerance, since stability rules them."""
    settings = sandu2001.Settings(0.9, 0.1, 5.0, 2e-3)
    rows = list(car.explicit_rows((1e-2, 1e-5), settings, lambda line: None))
    steps = [4.0 / row.steps for row in rows if row.duration_s == 4]
    assert 1e-6 < min(steps) < max(steps) < 1e-5
    assert max(steps) < 1.1 * min(steps)


def test_every_table_is_kept_beside_the_charts():
    """A table of a chart's name would have its points, and none on the page."""
    point = Point("rodas5p", 1e-3, 0.1, 1.0, 100)
    charts = (sandu2001._squeezer_chart((point,)),)
    found = Sandu2001({}, squeezer=(point,), charts=charts)
    assert list(found.record(0.0).tables) == ["sandu2001_squeezer"]
    assert len({each.name for each in found.csv_tables()}) == 2


def test_the_squeezing_mechanism_ends_where_the_test_set_says():
    """Nine of its constraints are redundant in space; the peers' equations are in a plane."""
    start, end = (squeezer.places(squeezer.PARTS @ q) for q in (squeezer.START, squeezer.END))
    assert max(np.abs(start.loops).max(), np.abs(end.loops).max()) < 1e-15
    mass, gradients, right = squeezer.planar(squeezer.START, np.zeros(7))
    matrix = np.block([[mass, gradients.T], [gradients, np.zeros((6, 6))]])
    first = np.linalg.solve(matrix, right)  # as in the test set
    np.testing.assert_allclose(first[:2], [14222.4439199541, -10666.8329399656], rtol=1e-12)
    np.testing.assert_allclose(first[7:9], [98.5668703962411, -6.12268834425567], rtol=1e-11)
    mechanism = squeezer.squeezer()
    assert (mechanism.freedoms, len(mechanism.redundant)) == (1, 9)
    motion = simulate_mechanism(mechanism, squeezer.DURATION, rtol=1e-8)
    assert squeezer.error_of(squeezer.turned(motion.q[-1])) < 1e-7
    radau = squeezer.by_radau(1e-6)
    assert squeezer.error_of(squeezer.PARTS @ radau[0][:7]) < 1e-5
