"""Study of Fan (2003): arms, replays, verdicts and files, for a table and a section."""

import csv
import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
from pictures import save_roughly

import manip_dyn as md
from manip_dyn.cli import main
from manip_dyn.codegen import customize
from manip_dyn.planning import plan_zero_net_work
from manip_dyn.studies import fan2003, report

SWITCH_65 = np.array([0.4471, 0.0142])
TWO_LINKS = {  # Fan (2003), eqs. 6.64, 6.69, 6.72
    "ibm7535": (0.4, 0.25, 29.58, 15.0, 6.0, 0.416739, 0.205625, 25.0, 9.0),
    "two_link_small": (0.4, 0.25, 0.245, 0.15315, 0.5, 3.2688e-3, 0.7986e-3, 0.25, 0.1),
    "two_link_large": (1.0, 0.625, 0.61261, 0.38288, 1.25, 51.0547e-3, 12.466e-3, 3.9, 1.56),
}
RP = {  # table 5.2: r1, I01, m2, limits
    "cylindrical": (0.6, 0.81, 1.0, 2.0, 2.0),
    "cylindrical_set_2": (0.4, 1.92, 1.5, 3.0, 2.5),
}


@pytest.fixture(scope="module")
def findings():
    """Sections 4.1 (one link) and table 5.3."""
    settings = report.read_settings("fan2003", fan2003.Settings)
    grid = replace(settings.grid, trials=60, full=60)
    settings = replace(settings, grid=grid, late=(0.0,))
    one, table = fan2003.recompute("section4.1", settings), fan2003.recompute("table5.3", settings)
    return replace(one, cases=(*one.cases, *table.cases))


def case(findings, name):
    (case,) = (case for case in findings.cases if case.name == name)
    return case


def arm(name):
    return fan2003.build_arm(name, report.read_settings("fan2003", fan2003.Settings).arms[name])


# --------------------------------------------------------------------------- arms
@pytest.mark.parametrize("name", list(TWO_LINKS))
def test_two_link_arms_have_the_mass_matrix_of_the_thesis(name):
    """Eqs. 6.20 to 6.23, with c1, c2, c3."""
    l1, l2, m1, m2, load, i1, i2, *limits = TWO_LINKS[name]
    c1 = i1 + m1 * (l1 / 2) ** 2 + (m2 + load) * l1**2
    c2 = i2 + m2 * (l2 / 2) ** 2 + load * l2**2
    c3 = m2 * l1 * l2 / 2 + load * l1 * l2
    robot, c = arm(name), c3 * np.cos(0.7)
    mass = customize(robot).unchecked.mass_matrix(np.array([0.3, 0.7]))
    assert mass == pytest.approx(np.array([[c1 + c2 + 2 * c, c2 + c], [c2 + c, c2]]), rel=1e-12)
    assert robot.tau_max == pytest.approx(limits)


@pytest.mark.parametrize("name", list(RP))
def test_cylindrical_arms_have_the_mass_matrix_of_the_thesis(name):
    """Eqs. 5.23 and 5.24."""
    r1, i01, m2, *limits = RP[name]
    robot = arm(name)
    mass = customize(robot).unchecked.mass_matrix(np.array([0.3, 0.1]))
    assert mass == pytest.approx(np.diag([i01 + m2 * (r1 + 0.1) ** 2, m2]), rel=1e-12)
    assert robot.tau_max == pytest.approx(limits)


# ------------------------------------------------------------------------ replays
def test_the_controller_arrives_with_exact_positions_and_stops_short_with_early_ones():
    robot, start, goal = arm("cylindrical"), np.array([np.pi / 4, 0.0]), np.zeros(2)
    half = np.sqrt(start[0] * 1.17 / 2.0)
    run = fan2003.controlled(robot, start, goal, np.array([np.pi / 8, np.nan]), 1e-4, 0.01)
    assert run.arrived
    assert run.t_switch[0] == pytest.approx(half, abs=1e-9)
    assert 2.0 * half - run.t_arrival[0] == pytest.approx(np.sqrt(1e-4 * 1.17), abs=1e-7)
    early = fan2003.controlled(
        robot, start, goal, np.array([np.pi / 8 + 1e-3, np.nan]), 1e-4, 0.01
    )
    assert not early.arrived
    assert early.miss == pytest.approx(2e-3, abs=1e-4)
    assert early.farthest == 0


@pytest.mark.parametrize(
    ("table", "shift", "arrivals"),
    [
        ("6.3", 0.0, (1.0342, 0.2481)),
        ("6.5", 0.0, (1.8332, 0.2996)),
        ("6.5", -5e-5, (1.7170, 0.2990)),
        ("5.4", 0.0, None),
        ("6.2", 0.0, None),
    ],
)
def test_the_printed_positions_under_the_literal_laws(table, shift, arrivals):
    """The expected arrivals are those of scipy's DOP853 with the thesis's formulas.

    The motions of 5.4 and 6.2 do not arrive.
    """
    settings = report.read_settings("fan2003", fan2003.Settings)
    motion = settings.cases[table]
    printed_ = fan2003.PUBLISHED["cases"][table]["zero_net_work"]["q_switch"]
    q_switch = np.array([np.nan if q is None else q for q in printed_])
    q_switch[1] += shift
    run = fan2003.literal(
        arm(motion.arm), np.array(motion.start), np.zeros(2), q_switch, settings.near
    )
    assert run.arrived == (arrivals is not None)
    if arrivals is not None:
        assert run.t_arrival == pytest.approx(arrivals, abs=1e-4)
        assert 0.01 < run.drift[1] < 0.1  # a held elbow would not drift


def test_the_literal_elbow_law_is_eq_6_55():
    """tau2 = tau1 (c2 + c3) / (c1 + c2 + 2 c3) in every state."""
    l1, l2, m1, m2, load, i1, i2, *limits = TWO_LINKS["two_link_large"]
    c1 = i1 + m1 * (l1 / 2) ** 2 + (m2 + load) * l1**2
    c2 = i2 + m2 * (l2 / 2) ** 2 + load * l2**2
    c3 = m2 * l1 * l2 / 2 + load * l1 * l2
    run = fan2003.literal(
        arm("two_link_large"), np.array([0.8, 0.2]), np.zeros(2), SWITCH_65, 1e-4
    )
    after = (run.times > run.t_arrival[1] + 1e-9) & (run.times < run.t_arrival[0] - 1e-9)
    shoulder, elbow = run.efforts[after].T
    assert np.abs(shoulder) == pytest.approx(limits[0])
    assert elbow == pytest.approx(shoulder * (c2 + c3) / (c1 + c2 + 2.0 * c3), rel=1e-12)


def test_rounding_and_late_decisions_vary_the_arrival():
    settings = report.read_settings("fan2003", fan2003.Settings)
    robot, start = arm("cylindrical"), np.array([np.pi / 4, 0.0])
    findings = fan2003.spread(
        robot, start, np.zeros(2), np.array([0.3927, np.nan]), 1e-4, 5e-5, (0.0, 1e-4)
    )
    assert findings.runs == 6
    assert findings.arrived == 5  # with half a digit less the arm stops early
    assert findings.covers(1.3449, 5e-5)
    assert not findings.covers(1.36, 5e-5)
    assert settings.late[0] == 0.0


def test_peak_works_are_kinetic_energies_and_decrease_without_the_load():
    settings = report.read_settings("fan2003", fan2003.Settings)
    robot = arm("ibm7535")
    rng = np.random.default_rng(1)
    q, v = rng.normal(size=(2, 5, 2))
    energies = fan2003.link_energies(robot, q, v)
    whole = [customize(robot).unchecked.energy(a, b)[0] for a, b in zip(q, v, strict=True)]
    assert energies.sum(axis=1) == pytest.approx(whole)
    light = fan2003.build_arm("light", replace(settings.arms["ibm7535"], load=1e-9))
    assert np.all(fan2003.link_energies(light, q, v)[:, 1] < energies[:, 1])
    assert fan2003.link_energies(light, q, v)[:, 0] == pytest.approx(energies[:, 0])


def test_decoupled_links_are_double_integrators():
    settings = report.read_settings("fan2003", fan2003.Settings)
    m = customize(fan2003.decoupled_arm(settings.decoupled)).unchecked.mass_matrix(
        np.array([0.3, -0.2])
    )
    assert m == pytest.approx(np.diag([4.0, 1.0]))
    right, early, late = fan2003.switching_cases(10.0, 10.0, 1.0, 0.1)
    assert (right.stops_at, right.speed) == (0.0, 0.0)
    assert early.stops_at == pytest.approx(0.2)
    assert late.speed == pytest.approx(np.sqrt(0.4))
    assert late.work == pytest.approx(5.0 * late.speed**2)


def test_claims_are_judged_from_the_cases(findings):
    judged = {claim.key: claim for claim in fan2003.claims(findings.cases)}
    assert judged["one switch is exact"].cases == 2  # the link of section 4.1
    assert judged["one switch is exact"].status == "confirmed"
    assert judged["upper bound"].status == "confirmed"
    assert judged["faster than pd"].status == "not measured"  # no gains for these
    assert judged["search ends"].status == "refuted"  # within the 60 trials of this test
    others = {"sensitive", "conditions", "fastest pd", "costate ranges", "guarantee"}
    keys = {*judged, "backup", *others}
    assert keys == set(fan2003.PUBLISHED["claims"])


def test_the_backup_arrives_later_than_new_motions(monkeypatch):
    settings = report.read_settings("fan2003", fan2003.Settings)
    robot = arm("ibm7535")
    plan = plan_zero_net_work(robot, settings.cases["6.2"].start, [0.0, 0.0])
    monkeypatch.setattr("manip_dyn.studies.fan2003.backup.LONGEST", plan.t_final + 1.0)
    findings = fan2003.backup_rows("6.2", plan, robot, settings.pd["6.2"], settings.near, 0.5)
    ours, pd = itertools.islice(findings, 2)
    assert (
        ours.settled == pd.settled == pytest.approx(plan.t_final, abs=0.02)
    )  # the model is exact
    rows = [
        row._replace(left=left, controller=f"{name} control")
        for row, left, name in ((pd, 0.0, "PD"), (pd, 0.1, "PD"), (ours, 0.1, "our"))
    ]
    assert fan2003.backup_claim(rows).fraction == 0.5


def test_printed_switches_are_compared_with_an_extremal():
    robot, start, goal = arm("one_link_horizontal"), np.array([1.0]), np.zeros(1)
    right = fan2003.printed(robot, start, goal, [[1.0]], 2.0, 5e-5)
    assert right.is_solution
    assert right.first == (-1.0,)
    assert right.refined == pytest.approx(2.0, abs=1e-9)
    assert right.failures == ()
    # a switch 1 ms early, with printed digits of 0.05 ms
    wrong = fan2003.printed(robot, start, goal, [[0.999]], 2.0, 5e-5)
    assert not wrong.is_solution
    assert wrong.shift == pytest.approx(1e-3, abs=1e-9)
    assert wrong.end == pytest.approx([2e-3 - 1e-6, 2e-3], abs=1e-5)
    assert wrong.refined == pytest.approx(2.0, abs=1e-9)


def test_pd_control_of_a_linear_arm_matches_its_closed_form():
    """I q'' = -Kp q - Kd q', critically damped, far from the limits: (1 + w t) exp(-w t) q0."""
    robot, gains = (
        arm("one_link_horizontal"),
        report.read_settings("fan2003", fan2003.Settings).pd["6.2"],
    )
    gains = replace(gains, kp=(10.0,), kd=(20.0,))
    pd, trace = fan2003.pd_control(robot, np.array([0.5]), gains, 1e-2, 3.0)
    assert trace.q[:, 0] == pytest.approx(0.5 * (1.0 + trace.time) * np.exp(-trace.time), abs=1e-7)
    assert 0.5 * (1.0 + pd.t_final) * np.exp(-pd.t_final) == pytest.approx(1e-2, abs=1e-7)
    assert pd.t_settled == pytest.approx(pd.t_final, abs=1e-9)
    assert pd.at_published == pytest.approx(0.5 * 4.0 * np.exp(-3.0), abs=1e-6)


def test_shooting_converges_from_the_printed_guess_of_chapter_4():
    """The boundary value problem of eq. 4.44 has five unknowns and four conditions."""
    guesses = fan2003.printed_guesses(fan2003.PUBLISHED["musn"])
    guess = guesses["4.2 case 1"]
    problem = fan2003.BoundaryValueProblem(arm("one_link_vertical"), np.array(guess.q0), 1)
    solution = problem.solve(guess)
    assert solution.t_final == pytest.approx(0.631492, abs=1e-6)
    assert problem.rank(guess) == 4
    assert problem.solve(guess._replace(costates0=(-0.2446, -0.0125))) is None


def test_costates_of_table_6_2_converge_with_the_opposite_sign():
    guess = fan2003.printed_guesses(fan2003.PUBLISHED["musn"])["6.2"]
    problem = fan2003.BoundaryValueProblem(arm("ibm7535"), np.array(guess.q0), 1)
    solution = problem.solve(guess._replace(costates0=tuple(-p for p in guess.costates0)))
    assert solution.t_final == pytest.approx(1.0833744, abs=1e-6)
    assert solution.costates == pytest.approx(-np.array(guess.costates0), abs=2e-6)


def test_pd_control_settles_earlier_with_other_gains():
    """At 25.6, 300, 27 and 100 of the thesis, the arm settles after 6.3 s."""
    robot, start = arm("ibm7535"), np.array([0.975, 0.0])
    gains = np.array([491.87, 5245.66, 149.237, 174.7615])
    assert fan2003.settling_time(robot, start, gains, 1e-4) < 1.5
    assert fan2003.settling_time(robot, start, np.array([25.6, 300.0, 27.0, 100.0]), 1e-4) > 6.0


# --------------------------------------------------------------------- the findings
def test_one_link_horizontal_is_a_double_integrator(findings):
    for name, start in (("4.1 case 1", 1.0), ("4.1 case 2", np.pi / 2)):
        one = case(findings, name)
        assert one.status == "reproduced"
        for t_final in (one.zero_net_work.t_final, one.minimum_time.t_final):
            assert t_final == pytest.approx(2.0 * np.sqrt(start), abs=1e-9)
        assert one.minimum_time.certificate["holds"]


def test_table_5_3_is_corrected_with_evidence(findings):
    table = case(findings, "5.3")
    assert table.status == "corrected"
    exact = 2.0 * np.sqrt(np.pi / 4 * 1.17 / 2.0)
    assert table.zero_net_work.t_final == pytest.approx(exact, abs=1e-9)
    assert table.as_published.t_final == pytest.approx(exact - np.sqrt(1e-4 * 1.17), abs=1e-8)
    assert table.as_published.t_final == pytest.approx(1.3449, abs=1e-4)
    assert table.grid["found"]
    assert table.minimum_time.status == "solved"
    assert not table.printed.is_solution
    assert table.printed.refined == pytest.approx(table.minimum_time.t_final, abs=1e-8)
    assert (
        "0.01077 s after the printed time, at which it is 9.9e-05 rad from its goal" in table.note
    )
    assert "does not satisfy the thesis's equations" in table.note
    for row in table.rows:
        if row.difference is not None:
            assert row.difference == pytest.approx(row.computed - row.published, abs=1e-15)
            assert (row.status == "reproduced") == (abs(row.difference) <= 1.0001e-4) or (
                "%" in row.quantity
            )


def test_work_curves_start_and_end_at_zero(findings):
    for one in findings.cases:
        for trace in one.traces:
            peak = np.abs(trace.work).max()
            assert np.abs(trace.work[[0, -1]]).max() < 1e-6 * peak
            assert trace.work_time[-1] == pytest.approx(trace.time[-1])


def test_json_text_and_files_agree(findings, tmp_path, monkeypatch):
    save_roughly(monkeypatch, "4_1_case_1_costates")
    content = json.loads(json.dumps(findings.content(), allow_nan=False))
    assert list(content["tables"]) == ["5.3"]
    assert list(content["sections"]) == ["4.1 case 1", "4.1 case 2"]
    keys = {
        "zero_net_work",
        "zero_net_work_as_published",
        "minimum_time",
        "pd",
        "published",
        "status",
        "note",
    }
    assert keys <= set(content["tables"]["5.3"])
    assert content["tables"]["5.3"]["pd"] is None
    assert content["tables"]["5.3"]["published"] == fan2003.PUBLISHED["cases"]["5.3"]
    files = {file.name for file in findings.write(tmp_path)}
    stems = ("4_1_case_1", "4_1_case_2", "5_3")
    across = ("final_times", "controllers", "grids", "peak_work", "planning_cost")
    costates = {f"4_1_case_{k}_costates.{kind}" for k in (1, 2) for kind in ("png", "svg")}
    tables = {f"{name}.csv" for name in ("results", "notes", *across)}
    assert files == tables | costates | {
        f"{stem}_{what}.{kind}"
        for stem in stems
        for what in ("motion", "work")
        for kind in ("csv", "png", "svg")
    }
    assert (tmp_path / "4_1_case_1_costates.png").read_bytes().startswith(b"\x89PNG")
    with (tmp_path / "results.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["case"] == "5.3"]
    computed = [str(row["computed"]) for row in content["tables"]["5.3"]["rows"]]
    assert [row["computed"] for row in rows] == computed
    assert "Table 5.3: cylindrical from (0.7854, 0) to zero; corrected" in str(findings)


def test_every_case_has_an_arm_and_an_item():
    settings = report.read_settings("fan2003", fan2003.Settings)
    assert set(settings.cases) == set(fan2003.CASES)
    assert len(fan2003.ITEMS) == 3 + 8 + 6  # section 3.1.3, backup, musn, pd, claims, all
    for name, motion in settings.cases.items():
        times = fan2003.PUBLISHED["cases"][name]["minimum_time"].get("switch_times")
        assert times is None or len(times) == len(motion.start)


# ---------------------------------------------------------------------- bad input
def test_an_unknown_item_is_rejected(capsys):
    assert main(["study", "fan2003", "table5.9"]) == 2
    error = capsys.readouterr().err
    assert "item must be one of fan2003, got 'table5.9'; did you mean 'table5." in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "item"),
    [
        ("fig5.9", "table5.3"),
        ("Figure 5.6", "table5.3"),
        ("fig3.7", "section3.1.3"),
        ("fig4.3", "section4.1"),
        ("table5.3", "table5.3"),
        ("section3.2", "claims"),
    ],
)
def test_names_of_the_thesis_select_items(name, item, monkeypatch, capsys):
    class CalledError(Exception):
        """Raised instead of a computation of seconds."""

    def recompute(item, progress):
        raise CalledError(item)

    monkeypatch.setattr("manip_dyn.studies.fan2003.recompute", recompute)
    with pytest.raises(CalledError) as error:
        main(["study", "fan2003", name])
    assert error.value.args == (item,)
    assert (f"the item '{item}'" in capsys.readouterr().err) is (name != item)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "fig3.6",
            "must be computed, got Figure 3.6 of fan2003, free body, case 1: exact switch: ",
        ),
        ("table5.2", ": see test: test/studies/test_fan2003.py"),
        ("fig9.9", "got 'fig9.9'"),
        ("section1", "got 'section1'"),
    ],
)
def test_items_that_are_not_computed_are_rejected(name, message, capsys):
    assert main(["study", "fan2003", name]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("near:", "neer:"), "has the unknown key 'neer'; did you mean 'near'?"),
        (("near: 1.0e-4", "near: 0"), "near must be above 0, got 0"),
        (("trials: 500", "trials: 0"), "trials must be a positive integer, got 0"),
        (
            ("arm: ibm7535,", "arm: ibm7536,"),
            "must be defined, got 'ibm7536'; did you mean 'ibm7535'?",
        ),
        (("kp: [25.6, 300.0]", "kp: [25.6]"), "kp of 6.2 must have shape (2,), got (1,)"),
        (("start: [0.2, 0.3]", "start: 0.2"), "start of 5.4 must be a list of numbers, got 0.2"),
        (("load: 0.5", "load: -1"), "load of two_link_small must be above 0, got -1"),
    ],
)
def test_bad_settings_are_rejected(change, words, tmp_path):
    shipped = report.settings_file("fan2003").read_text()
    assert change[0] in shipped
    file = tmp_path / "changed.yaml"
    file.write_text(shipped.replace(change[0], change[1], 1))
    with pytest.raises(md.ManipDynError) as error:
        report.read_settings("fan2003", fan2003.Settings, file)
    assert words in str(error.value)
    assert str(error.value).startswith(f"'{file}': ")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"links": {"link_9": {"mass": 1.0}}, "joints": {}}, "got 'link_9'; did you mean"),
        (
            {"links": {"link_1": {"maas": 1.0}}, "joints": {}},
            "no parameter 'maas'; did you mean 'mass'",
        ),
        ({"links": {"link_1": {"mass": "x"}}, "joints": {}}, "'x'"),
    ],
)
def test_bad_arms_are_rejected(changes, words):
    with pytest.raises(md.ManipDynError) as error:
        fan2003.build_arm("arm", fan2003.Arm("cylindrical", **changes))
    assert words in str(error.value)
