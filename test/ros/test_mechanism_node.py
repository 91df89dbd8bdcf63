"""The mechanism node: poses, joint states and markers of a moving mechanism, and its scenario."""

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseArray
from harness import run_node
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger
from visualization_msgs.msg import Marker, MarkerArray

from manip_dyn import ManipDynError
from manip_dyn.demo import Run, perform_run, scenario
from manip_dyn.multibody import MechanismSimulation, load_mechanism
from manip_dyn.ros import MechanismNode

PERIOD = 10_000_000
"""Control period, ns."""


def stamp(message):
    return message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec


def read(message):
    """Return the coordinates (7 b,) of a pose array."""
    rows = [(pose.position, pose.orientation) for pose in message.poses]
    return np.ravel([(p.x, p.y, p.z, o.w, o.x, o.y, o.z) for p, o in rows])


def start(ros, mechanism="slider_crank", **parameters):
    messages = ros.listen(PoseArray, "mechanism/poses"), ros.listen(JointState, "joint_states")
    parameters = {"mode": "lockstep", "control_period": 0.01, **parameters}
    ros.start(MechanismNode, mechanism=mechanism, **parameters)
    ros.until(lambda: messages[0] and messages[1], "no poses or joint states")
    return messages


def step(ros, poses, states):
    """Advance one period and return its messages."""
    after = stamp(poses[-1]) + PERIOD
    assert ros.call(Trigger, "mechanism/step").success
    ros.until(lambda: stamp(poses[-1]) == stamp(states[-1]) == after, "no answer to a step")
    return poses[-1], states[-1]


def test_lockstep_poses_are_those_of_the_core(ros):
    poses, states = start(ros)
    steps = [step(ros, poses, states) for _ in range(20)]
    simulation = MechanismSimulation(load_mechanism("slider_crank"), rtol=1e-6)
    for k, (message, _) in enumerate(steps, start=1):
        simulation.advance_to(k * PERIOD * 1e-9)
        assert read(message).tolist() == simulation.q.tolist()
        assert np.abs(simulation.mechanism.violations(read(message))).max() < 1e-10
    assert steps[0][0].header.frame_id == "world"


def test_joint_states_are_rotations_and_displacements_from_the_assembly(ros):
    poses, states = start(ros)
    state = [step(ros, poses, states) for _ in range(30)][-1][1]
    assert list(state.name) == ["crank pin", "rod pin", "guide"]
    crank, pin, guide = state.position
    angle = 0.7 + crank  # closed form: crank 0.5 m, rod 1.2 m
    reach = [0.5 * np.cos(a) + np.sqrt(1.44 - (0.5 * np.sin(a)) ** 2) for a in (0.7, angle)]
    assert guide == pytest.approx(reach[1] - reach[0], abs=1e-9)
    rod = [-np.arcsin(0.5 * np.sin(a) / 1.2) for a in (0.7, angle)]
    assert pin == pytest.approx(rod[1] - rod[0] - crank, abs=1e-9)
    slope = -0.5 * np.sin(angle) * (1 + 0.5 * np.cos(angle) / (reach[1] - 0.5 * np.cos(angle)))
    assert state.velocity[2] == pytest.approx(slope * state.velocity[0], abs=1e-9)


def test_markers_have_the_poses_of_the_bodies(ros, description_file):
    drawings = ros.listen(MarkerArray, "mechanism/markers")
    poses, states = start(ros, description_file)
    step(ros, poses, states)
    ros.until(lambda: drawings and stamp(drawings[-1].markers[0]) == PERIOD, "no markers")
    markers = drawings[-1].markers
    boxes = [m for m in markers if m.type == Marker.CUBE]
    poses_of_bodies = read(poses[-1]).reshape(-1, 7)
    assert [m.text for m in boxes] == ["arm", "wheel"]
    np.testing.assert_allclose(
        [(m.pose.position.x, m.pose.position.y, m.pose.position.z) for m in boxes],
        poses_of_bodies[:, :3],
    )
    sides = [boxes[0].scale.x, boxes[0].scale.y, boxes[0].scale.z]
    np.testing.assert_allclose(sorted(sides), [0.1, 0.2, 1.0], rtol=1e-9)
    wheel, bump = (m for m in markers if m.type == Marker.CYLINDER)
    assert wheel.scale.x == wheel.scale.y == pytest.approx(0.8)
    assert (bump.ns, bump.scale.x, bump.pose.position.z) == ("bump", pytest.approx(0.1), 0.0)
    polylines = {m.ns: [(p.x, p.y, p.z) for p in m.points] for m in markers if m.points}
    np.testing.assert_allclose(polylines["spring"][0], (0.0, 0.0, 2.0))
    rod = np.subtract(*polylines["rod"])
    assert rod @ rod == pytest.approx(0.25, abs=1e-9)
    assert len({(m.ns, m.id) for m in markers}) == len(markers)
    assert {m.header.frame_id for m in markers} == {"world"}


@pytest.fixture
def description_file(tmp_path):
    """A file with a body of known sides, a wheel on the road, a spring and a rod."""
    box = [3.0 / 12 * (a**2 + b**2) for a, b in ((0.2, 0.1), (1.0, 0.1), (1.0, 0.2))]
    path = tmp_path / "own.yaml"
    path.write_text(f"""
bodies:
  arm: {{mass: 3.0, inertia: {box}, position: [0.5, 0, 0.6]}}
  wheel: {{mass: 5.0, inertia: [0.2, 0.4, 0.2], position: [1.0, 0.2, 0.4]}}
joints:
  hinge: {{kind: revolute, bodies: [ground, arm], points: [0, 0, 0.6], axis: [0, 1, 0]}}
  axle: {{kind: universal, bodies: [arm, wheel], points: [1.0, 0.2, 0.4],
          axis: [[1, 0, 0], [0, 0, 1]]}}
  rod: {{kind: distance, bodies: [arm, wheel], points: [[0.7, 0.4, 0.4], [1.0, 0.8, 0.4]]}}
forces:
  - {{kind: spring, bodies: [ground, arm], points: [[0, 0, 2], [1, 0, 0.6]], stiffness: 500.0}}
  - {{kind: tyre, body: wheel, point: [1.0, 0.2, 0.4], radius: 0.4, stiffness: 3e3, damping: 50.0,
     bump: 0.05, speed: 4.0, hit: 0.5}}
""")
    return path


def test_pause_step_and_reset(ros):
    poses, _ = start(ros, mode="real_time", publish_clock=True)
    clocks = ros.listen(Clock, "/clock")
    response = ros.call(Trigger, "mechanism/step")
    assert not response.success
    assert "pause" in response.message
    assert ros.call(SetBool, "mechanism/pause", SetBool.Request(data=True)).success
    # Pending poses arrive first; from then on the same poses are repeated.
    ros.until(
        lambda: len(poses) > 1 and stamp(poses[-1]) == stamp(poses[-2]),
        "time does not stand still",
    )
    paused_at = stamp(poses[-1])
    assert ros.call(Trigger, "mechanism/step").success
    ros.until(lambda: stamp(poses[-1]) == paused_at + PERIOD, "step does not advance one period")
    assert ros.call(Trigger, "mechanism/reset").success
    ros.until(lambda: stamp(poses[-1]) == 0, "reset does not go back")
    assert read(poses[-1]).tolist() == load_mechanism("slider_crank").q0.tolist()
    ros.until(lambda: clocks and clocks[-1].clock.sec == clocks[-1].clock.nanosec == 0, "no clock")


def test_diagnostics_contain_counts_and_violation(ros):
    diagnostics = ros.listen(DiagnosticArray, "/diagnostics")
    start(ros, mode="fast")

    def values():
        return {v.key: v.value for m in diagnostics for v in m.status[0].values}

    ros.until(lambda: float(values().get("time [s]", 0)) > 0, "time does not pass")
    assert diagnostics[-1].status[0].name == "mechanism"
    assert "20 constraints" in values()["mechanism"]
    assert 0.0 < float(values()["violation of the constraints"]) < 1e-10


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"mechanism": "four_bra"}, "did you mean 'four_bar'"),
        ({"integrator": "rk44"}, "integrator"),
        ({"integrator": "rk4"}, "rk4"),
        ({"rtol": float("nan")}, "rtol"),
        ({"mechanisms": "four_bar"}, "unknown parameter 'mechanisms'"),
    ],
)
def test_invalid_parameters_are_rejected(ros, parameters, words):
    with pytest.raises(ManipDynError, match=words):
        ros.start(MechanismNode, **parameters)


def test_an_invalid_file_ends_with_one_line_and_exit_code_2(tmp_path):
    path = tmp_path / "broken.yaml"
    path.write_text(
        "bodies: {a: {mass: 1.0, inertia: [1, 1, 1]}}\n"
        "joints: {pin: {kind: spherical, bodies: [a, c]}}\n"
    )
    code, log = run_node("mechanism", "-p", f"mechanism:={path}")
    assert code == 2
    assert f"[mechanism]: '{path}': body must be a body of the mechanism, got 'c'" in log
    assert "Traceback" not in log


def test_the_scenario_is_measured_by_its_poses_only():
    """Measured with a fast mechanism in place of the car."""
    small = (
        *((node, "mechanism", "slider_crank") for node in ("mechanism", "mechanism_monitor")),
        ("mechanism", "mode", "fast"),
        ("mechanism_monitor", "body", "rod"),
        ("mechanism_monitor", "height", "0.0"),
        ("mechanism_monitor", "duration", "0.5"),
    )
    run = Run("small", "", small, {})
    summary = perform_run(scenario("hmmwv"), run, lambda _: None)
    assert (summary["samples"], summary["missed_samples"]) == (26, 0)
    assert summary["max_violation"] < 1e-10
    assert summary["final_height_error_m"] < 1e-12


def test_an_unknown_body_of_the_monitor_is_reported():
    wrong = (("mechanism_monitor", "body", "chasis"),)
    with pytest.raises(ManipDynError, match="did you mean 'chassis'"):
        perform_run(scenario("hmmwv"), Run("wrong", "", wrong, {}), lambda _: None)
