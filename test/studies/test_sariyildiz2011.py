"""`manip_dyn study sariyildiz2011`: figures, claims and files, on a reduced configuration."""

import csv
import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from pictures import save_roughly

import manip_dyn as md
from manip_dyn.cli import main
from manip_dyn.core.compiled import compiled
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.files import share_directory
from manip_dyn.studies.report.settings import read_settings
from manip_dyn.studies.sariyildiz2011 import FIGURES, PUBLISHED, SIX, recompute
from manip_dyn.studies.sariyildiz2011.figures import evaluations_to
from manip_dyn.studies.sariyildiz2011.findings import claims
from manip_dyn.studies.sariyildiz2011.runs import RISING, Case, Runs
from manip_dyn.studies.sariyildiz2011.settings import Settings


@compiled(merge=True)
def growth(t, y, p, out):
    """Write the rate of y = exp(sin t)."""
    out[0] = y[0] * np.cos(t)


@pytest.fixture(scope="module")
def settings():
    shipped = read_settings("sariyildiz2011", Settings)
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
    """All runs, each made once; without the words on what else would reach a path that is lost."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules["manip_dyn.clik.tracking"], "_reachability", lambda *_: "")
        yield Runs(settings, PUBLISHED["linear_speed_m_s"], PUBLISHED["angular_speed_rad_s"])


@pytest.fixture(scope="module")
def published():
    """What is printed, at two sampling periods: 1 ms takes long."""
    return {**PUBLISHED, "sampling_s": [1.0, 0.1]}


@pytest.fixture(scope="module")
def found(settings, published, runs):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("manip_dyn.studies.sariyildiz2011.PUBLISHED", published)
        patch.setattr("manip_dyn.studies.sariyildiz2011.Runs", lambda *_: runs)
        return recompute("all", settings)


def table(found, name):
    (each,) = (each for each in found.tables if each.name == name)
    return each.content()["rows"]


def verdicts(found, key):
    return [claim for claim in found.claims if claim.key == key]


# --------------------------------------------------------------------------- the claims
def test_printed_errors_hold_around_the_base_axis_and_not_beside_it(runs):
    """The conclusion depends on a circle that the paper does not print."""
    for method, printed in PUBLISHED["position_error_at_100ms_m"].items():
        for gain in (0.2, 2.0):
            run = runs.run(Case("around_base", method, 0.1, gain))
            assert max(run.first, run.steady) <= printed
    assert runs.run(Case("beside_base", "rk2", 0.1, 2.0)).steady > 1e-5
    assert runs.run(Case("beside_base", "rk4", 0.1, 2.0)).steady > 1e-8


def test_euler_is_lost_at_1_s_with_weak_feedback_beside_the_base_only(runs):
    """Feedback holds v w h / (2 K) of what each step leads off; linear stability is no issue."""
    lost = runs.run(Case("beside_base", "rk1", 1.0, 0.1))
    assert not lost.stable
    assert lost.steady == pytest.approx(0.1 * 0.2 / (2.0 * 0.1), rel=0.4)
    assert runs.run(Case("beside_base", "euler_trapezoidal", 1.0, 0.1)).stable
    assert runs.run(Case("around_base", "rk1", 1.0, 0.1)).stable
    for method in SIX:
        past = 1.06 * md.METHODS[method].stability_interval
        assert not runs.run(Case("around_base", method, 1.0, past)).stable, method


def test_steady_joint_rates_make_adams_the_most_accurate(runs):
    """On the circle about the base axis; the error of rk4 there is that of feedback in stages."""
    adams, runge = (runs.run(Case("around_base", m, 0.1, 2.0)).steady for m in ("abm4", "rk4"))
    assert runge > 100.0 * adams
    assert runge > 30.0 * runs.run(Case("around_base", "rk4", 0.1, 0.1)).steady
    assert runs.run(Case("beside_base", "rk4", 0.1, 0.1)).steady < 0.1 * min(
        runs.run(Case("beside_base", m, 0.1, 0.1)).steady for m in SIX if m != "rk4"
    )


def test_damping_bounds_errors_and_speeds_where_the_inverse_does_not(runs):
    """Outside reach; the speeds are those of an arm without limits."""
    shown = runs.settings.singular.shown
    plain, damped = (
        [runs.run(Case(shown, m, 0.1, 2.0, inverse=inverse, laps=1)) for m in SIX]
        for inverse in ("pseudo_inverse", "filtered")
    )
    assert max(run.speed for run in plain) > 1.0
    assert all(run.near > 10.0 * run.before for run in plain)
    assert all(run.speed < 1.0 and run.near < 0.004 for run in damped)
    assert damped[SIX.index("rk4")].last < 1e-6


def test_every_method_has_its_order(found):
    for row in table(found, "orders"):
        assert row["measured"] == pytest.approx(row["order"], abs=0.3), row


def test_limits_of_stability_are_the_linear_ones(found, settings):
    """As far as the tried gains resolve them."""
    for row in table(found, "gain"):
        beyond = min(g for g in settings.charted_gains if g > row["linear limit of K h"])
        for circle in settings.shown_circles:
            assert row[f"{circle}, 1 s"] == beyond, row


def test_costs_count_evaluations(found):
    counts = [row["evaluations"] for row in table(found, "cost")]
    assert counts == [1.0, 2.0, 4.0, 2.0, pytest.approx(1.0, abs=0.05), pytest.approx(2, abs=0.05)]
    assert all(row["us"] > 0.0 for row in table(found, "cost"))


def test_every_claim_has_numbers_and_a_verdict(found):
    assert {claim.key for claim in found.claims} == set(PUBLISHED["claims"])
    for claim in found.claims:
        if not claim.cases:  # no singular circle of this configuration is harmless
            assert claim.status == "not measured"
            continue
        assert claim.status in ("confirmed", "partly confirmed", "refuted")
        assert claim.least <= claim.number <= claim.most
        assert len(claim.holds) + len(claim.exceptions) == claim.cases
        assert claim.share == len(claim.holds) / claim.cases


def test_verdicts_follow_from_the_cases():
    cheap = {m: 1e-6 * (1 + k) for k, m in enumerate(("rk1", "rk2", "ab4", "rk4"))}
    counts = {"rk1": 1.0, "rk2": 2.0, "ab4": 1.02, "rk4": 4.0}
    ratios, starts = {1e-6: [("a", 2.0), ("b", 0.5)]}, {1.0: [("a", 2.0)], 0.1: [("a", 0.9)]}

    def judged(costs):
        return {
            claim.measure: claim for claim in claims([], costs, [], {}, counts, ratios, starts)
        }

    found = judged(cheap)
    assert found["CPU time of a step / that of Euler; above 1"].verdict == "confirmed"
    assert found["evaluations of a step / that of Euler; above 1"].status == "partly confirmed"
    assert found["CPU time of a step, rk4 / Euler; below 1.5"].status == "refuted"
    assert found["its error at 1 s, m; path not lost, errors do not grow"].cases == 0
    dearer = found["evaluations to 1e-06 m, least of rk2 and rk4 / of ab4 and abm4; above 1"]
    assert dearer.share == found["the same to 1e-06 m; at most 1"].share == 0.5
    assert found["the same at 100 ms, both started by lower orders"].status == "refuted"
    found = judged(cheap | {"rk2": 9e-6, "ab4": 9e-6})
    assert found["CPU time of a step, rk4 / the method; above 1"].status == "refuted"
    found = judged(cheap | {"rk2": 1.05e-6})
    told = found["CPU time of a step / that of Euler; above 1"].verdict
    assert told == "confirmed (partly confirmed with times 10% off)"


def test_adams_methods_start_as_the_paper_does_and_keep_their_order():
    """y' = y cos t: the first step is Euler's (or Heun's), and its error of h^2 (h^3) stays."""
    for name, first, order in (("ab4_rising", 1, 2.0), ("abm4_rising", 2, 3.0)):
        method, errors = RISING[name], []
        for steps in (100, 200):
            h = 1.0 / steps
            found = md.integrate(growth, (0.0, 1.0), [1.0], method=method, step=h)
            errors.append(abs(found.y_last[0] - np.exp(np.sin(1.0))))
            euler = 1.0 + h
            heun = 1.0 + 0.5 * h * (1.0 + euler * np.cos(h))
            assert found.y[1, 0] == pytest.approx(euler if first == 1 else heun, rel=1e-14)
        assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.2)


def test_evaluations_are_read_between_runs():
    points = [(10.0, 1e-2), (100.0, 1e-4), (1000.0, 1e-6)]
    assert evaluations_to(points, 1e-3) == pytest.approx(10.0**1.5)
    assert evaluations_to(points, 1.0) == 10.0
    assert evaluations_to(points, 1e-9) == np.inf


# ---------------------------------------------------------------------------- the runs
def test_runs_have_no_limits_unless_asked_for(runs):
    assert np.isinf(runs.unlimited.v_max).all()
    shown = runs.settings.singular.shown
    limited = runs.run(Case(shown, "rk1", 0.1, 2.0, limited=True, laps=1))
    assert limited.speed <= 1.0 + 1e-12


def test_speed_limits_may_turn_the_clock_of_ab4_back(runs):
    """Where they stop it at once: no drift per cycle then, and no crash."""
    beyond = {
        "far": read_settings("sariyildiz2011", Settings).singular.circles["far_beyond_reach"]
    }
    other = Runs(replace(runs.settings, circles=runs.settings.circles | beyond), 0.1, 0.2)
    done = other.tracking(Case("far", "ab4", 0.1, 2.0, limited=True, laps=1))
    assert np.diff(done.path_time).min() <= 0.0
    assert done.drift is None
    assert np.all(np.isfinite(done.q))


def test_a_start_off_the_path_is_forgotten_after_a_lap(runs):
    off = runs.run(Case("beside_base", "rk4", 0.1, 1.0, offset=0.02))
    assert off.position[0] > 0.01
    assert off.steady == pytest.approx(
        runs.run(Case("beside_base", "rk4", 0.1, 1.0)).steady, rel=0.3
    )


def test_kept_errors_are_the_largest_of_their_stretches(runs):
    case = Case("beside_base", "rk2", 0.1, 0.1)
    assert max(runs.run(case).position) == runs.tracking(case).position_error.max()
    assert runs.run(case) is runs.run(case)


# --------------------------------------------------------------------------- the output
def test_json_csv_and_pictures_are_complete(found, tmp_path, monkeypatch):
    save_roughly(monkeypatch, "fig9")
    content = json.loads(json.dumps(found.content(), allow_nan=False))
    assert [chart.name for chart in found.charts] == [
        *FIGURES,
        *("gain", "circles", "orders", "efficiency"),
    ]
    drawn = ("fig4", "fig7", "fig9", "circles")  # one of each kind: drawing takes its time
    few = replace(found, charts=tuple(chart for chart in found.charts if chart.name in drawn))
    files = {file.name for file in few.write(tmp_path)}
    assert {f"{name}.{kind}" for name in drawn for kind in ("png", "svg", "csv")} < files
    assert {f"{each.name}_table.csv" for each in found.tables} | {"claims.csv"} < files
    assert (tmp_path / "fig9.png").read_bytes().startswith(b"\x89PNG")
    with (tmp_path / "singular_table.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["rk4"]) for row in rows] == [row["rk4"] for row in table(found, "singular")]
    for claim in content["claims"]:
        assert claim["published"] == PUBLISHED["claims"][claim["key"]]
    for chart in content["charts"]:
        assert all(panel["lines"] for panel in chart["panels"]), chart["name"]


def test_the_text_shows_published_beside_computed(found):
    text = str(found)
    assert 'published: "explicit Euler is unstable at 1 s"' in text
    assert "Figures 15 to 18" in text


def test_figure_4_to_6_are_of_the_same_motion(found):
    path, velocities, positions = found.charts[:3]
    for panel in path.panels:
        desired, actual = panel.lines
        assert np.abs(np.subtract(desired.x, actual.x)).max() < 1e-6
        assert np.hypot(np.ptp(desired.x), np.ptp(desired.y)) == pytest.approx(2**0.5, rel=1e-3)
    for fast, place in zip(velocities.panels[0].lines, positions.panels[0].lines, strict=True):
        np.testing.assert_allclose(np.gradient(place.y, 0.1)[1:-1], fast.y[1:-1], atol=1e-4)


def test_the_command_prints_one_json_object(capsys):
    assert main(["study", "sariyildiz2011", "fig5", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    (chart,) = content["charts"]
    assert [line["label"] for line in chart["panels"][0]["lines"]][:2] == ["S1", "S2"]


def test_an_unknown_item_is_named(capsys):
    assert main(["study", "sariyildiz2011", "fig19"]) == 2
    assert "the study of sariyildiz2011 has no item 'fig19'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("gain: 0.2", "gian: 0.2"), "has the unknown key 'gian'; did you mean"),
        (("gain: 0.2", "gain: 0"), "gain is 0 1/s"),
        (("laps: 3", "laps: 2"), "laps is 2; expected 3 or more"),
        (
            ("[around_base, beside_base]", "[around_bas]"),
            "shown_circles has 'around_bas'; did you",
        ),
        (("center: [0.0, 0.4, 0.6]", "center: [0.4]"), "center of beside_base has shape (1,)"),
        (
            ("follow_tangent: true", "follow_tangent: 1"),
            "follow_tangent of around_base_tangent is",
        ),
        (("[quaternion, log]", "[angle]"), "orientation_errors has 'angle'"),
        (("gains: [2.0, 0.2]", "gains: []"), "gains of singular is []; expected a list"),
        (("posture: [2.69,", "posture: [.nan,"), "posture of beside_base"),
    ],
)
def test_bad_settings_are_named(change, words, tmp_path):
    shipped = (share_directory() / "config" / "sariyildiz2011.yaml").read_text()
    file = tmp_path / "changed.yaml"
    file.write_text(shipped.replace(*change))
    with pytest.raises(ManipDynError) as error:
        read_settings("sariyildiz2011", Settings, file)
    assert words in str(error.value)
    assert str(error.value).startswith(f"'{file}': ")
