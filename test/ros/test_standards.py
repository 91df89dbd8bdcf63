"""Optional interfaces: tf, and the services of simulation_interfaces.

The packages of these messages have no wheels; nodes run without them.
"""

import sys

import numpy as np
import pytest
from harness import LATCHED
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool

import manip_dyn as md
from manip_dyn import ManipDynError
from manip_dyn.robot import LinkTree
from manip_dyn.ros import ClikTrackerNode, SimulatorNode

PERIOD = 1_000_000
"""Control period, ns."""


@pytest.fixture
def without_packages(monkeypatch):
    """Hide the optional packages."""
    for name in ("tf2_msgs.msg", "simulation_interfaces.srv", "simulation_interfaces.msg"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "control_msgs.action", None)


def test_nodes_run_without_optional_packages(ros, without_packages):
    states = ros.listen(JointState, "joint_states")
    ros.start(SimulatorNode, robot="rr", control_period=0.01)
    ros.until(lambda: states, "no joint states")
    assert ros.probe.count_publishers("/tf") == 0
    services = [name for name, _ in ros.probe.get_service_names_and_types()]
    assert not [name for name in services if "simulat" in name.rpartition("/")[2]]
    assert not [name for name in services if "/_action/" in name]
    ros.until(
        lambda: any("control_msgs is not installed" in message for message in ros.messages()),
        "the missing package is not reported",
    )


def test_publish_tf_always_requires_tf2_msgs(ros, without_packages):
    with pytest.raises(ManipDynError, match=r"'publish_tf' must be .* tf2_msgs, got 'always'"):
        ros.start(SimulatorNode, robot="rr", publish_tf="always")


def stamp(header):
    return header.stamp.sec * 1_000_000_000 + header.stamp.nanosec


def numbers(transform):
    t, r = transform.transform.translation, transform.transform.rotation
    return [t.x, t.y, t.z, r.x, r.y, r.z, r.w]


def expected(placements):
    return {(p.parent, p.child): [*p.position, *p.quaternion] for p in placements}


def received(message):
    return {(t.header.frame_id, t.child_frame_id): numbers(t) for t in message.transforms}


@pytest.fixture
def tf():
    """The package tf2_msgs."""
    return pytest.importorskip("tf2_msgs.msg", reason="tf2_msgs is not installed")


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        (SimulatorNode, {"robot": "rr", "control_period": 0.01, "initial_velocity": [1.0, 0.5]}),
        (
            ClikTrackerNode,
            {"path": "target", "initial_position": [0.3, 1.0, -0.3, 1.9, 0.2, 0.7, 0.1]},
        ),
    ],
)
def test_nodes_publish_the_frames_of_the_links(ros, tf, kind, parameters):
    moving, states = (
        ros.listen(tf.TFMessage, "/tf"),
        ros.listen(JointState, "joint_states"),
    )
    fixed = ros.listen(tf.TFMessage, "/tf_static", LATCHED)
    ros.start(kind, **parameters)
    ros.until(lambda: len(moving) > 3 and fixed, "no transforms")
    tree = LinkTree(md.load_robot(parameters.get("robot", "pa10")))
    assert received(fixed[-1]).keys() == expected(tree.fixed).keys()
    message = moving[-1]
    sent = stamp(message.transforms[0].header)
    ros.until(lambda: stamp(states[-1].header) >= sent, "no such joint state")
    (state,) = [item for item in states if stamp(item.header) == sent]
    for key, placement in expected(tree.moving(np.array(state.position))).items():
        assert received(message)[key] == pytest.approx(placement, abs=1e-12)
    assert {stamp(item.header) for item in message.transforms} == {sent}


def test_a_node_does_not_publish_tf_if_another_one_does(ros, tf):
    own = ros.probe.create_publisher(tf.TFMessage, "/tf", 10)
    ros.start(SimulatorNode, robot="rr", control_period=0.01)
    ros.spin(1.5)  # the node checks once a second
    assert ros.probe.count_publishers("/tf") == 1
    ros.probe.destroy_publisher(own)
    moving = ros.listen(tf.TFMessage, "/tf")
    ros.until(lambda: moving, "no publisher of tf")
    another = ros.probe.create_publisher(tf.TFMessage, "/tf", 10)
    ros.until(lambda: ros.probe.count_publishers("/tf") == 1, "two publish tf")
    assert another.get_subscription_count() == 1


def test_tf_is_repeated_for_late_joiners_while_time_is_paused(ros, tf):
    states = ros.listen(JointState, "joint_states")
    ros.start(SimulatorNode, robot="rr", mode="lockstep", publish_tf="always")
    first = ros.listen(tf.TFMessage, "/tf")
    ros.until(lambda: first, "no transforms")
    before = len(states)
    ros.until(lambda: len(states) > before + 3, "no further states")
    assert len(first) == 1
    second = ros.listen(tf.TFMessage, "/tf")
    ros.until(lambda: second, "no transforms for a late joiner")


def test_tf_can_be_disabled(ros, tf):
    ros.start(SimulatorNode, robot="rr", mode="lockstep", publish_tf="never")
    ros.spin(0.1)
    assert ros.probe.count_publishers("/tf") == 0


def test_the_standard_services_match_those_of_the_node(ros):
    reason = "simulation_interfaces is not installed"
    srv = pytest.importorskip("simulation_interfaces.srv", reason=reason)
    msg = pytest.importorskip("simulation_interfaces.msg", reason=reason)
    result, state, features_type = msg.Result, msg.SimulationState, msg.SimulatorFeatures
    states = ros.listen(JointState, "joint_states")
    ros.start(SimulatorNode, robot="rr", publish_clock=True)
    ros.until(lambda: states, "no joint states")

    def call(kind, name, **request):
        return ros.call(kind, f"simulator/{name}", kind.Request(**request))

    def change(to):
        return call(
            srv.SetSimulationState, "set_simulation_state", state=state(state=to)
        ).result.result

    def present():
        answer = call(srv.GetSimulationState, "get_simulation_state")
        assert answer.result.result == result.RESULT_OK
        return answer.state.state

    def step(steps):
        return call(srv.StepSimulation, "step_simulation", steps=steps).result

    features = call(srv.GetSimulatorFeatures, "get_simulator_features").features.features
    assert features_type.STEP_SIMULATION_MULTIPLE in features
    assert features_type.SPAWNING not in features

    assert present() == state.STATE_PLAYING
    rejected = step(3)
    assert rejected.result == result.RESULT_OPERATION_FAILED
    assert "call ~/pause before ~/step" in rejected.error_message
    assert change(state.STATE_PAUSED) == result.RESULT_OK
    assert present() == state.STATE_PAUSED
    assert change(state.STATE_PAUSED) == srv.SetSimulationState.Response.ALREADY_IN_TARGET_STATE
    ros.spin(0.15)
    paused_at = stamp(states[-1].header)
    assert step(5).result == result.RESULT_OK
    ros.until(lambda: stamp(states[-1].header) == paused_at + 5 * PERIOD, "no five steps")
    assert step(10**9).result == result.RESULT_OPERATION_FAILED

    scope = srv.ResetSimulation.Request
    only = call(srv.ResetSimulation, "reset_simulation", scope=scope.SCOPE_STATE).result
    assert only.result == result.RESULT_FEATURE_UNSUPPORTED
    assert call(srv.ResetSimulation, "reset_simulation").result.result == result.RESULT_OK
    ros.until(lambda: stamp(states[-1].header) == 0, "it was not reset")
    assert present() == state.STATE_STOPPED
    assert change(state.STATE_PLAYING) == result.RESULT_OK
    ros.until(lambda: stamp(states[-1].header) > 0, "it does not play")
    assert change(state.STATE_STOPPED) == result.RESULT_OK
    assert present() == state.STATE_STOPPED
    ros.until(lambda: stamp(states[-1].header) == 0, "it was not stopped")
    assert change(state.STATE_QUITTING) == result.RESULT_FEATURE_UNSUPPORTED
    ros.call(SetBool, "simulator/pause", SetBool.Request(data=False))
    ros.until(lambda: present() == state.STATE_PLAYING, "the states differ")
    assert ros.publisher(Float64MultiArray, "simulator/commands")
