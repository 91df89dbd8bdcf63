"""Parameters of nodes: descriptions, and errors of one line at the start and at run time."""

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from harness import run_node
from rcl_interfaces.msg import ParameterType
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    ListParameters,
)
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

import manip_dyn as md
from manip_dyn import ManipDynError
from manip_dyn.ros import BangBangPlannerNode, ClikTrackerNode, SimulatorNode

NODES = {
    "simulator": (SimulatorNode, {"robot": "ibm7535", "control_period": 0.01}),
    "clik_tracker": (
        ClikTrackerNode,
        {
            "circle.center": [0.5, 0.0, 0.68],
            "circle.normal": [1.0, 0.0, 0.0],
            "circle.start": [0.0, 0.0, -1.0],
            "initial_position": [0.36, 1.0, -0.38, 1.92, -2.22, 2.74, -2.41],
        },
    ),
    "bang_bang_planner": (BangBangPlannerNode, {"robot": "ibm7535"}),
}
DEFAULTS = {
    "simulator": {
        "initial_position": [0.0, 0.0],
        "initial_velocity": [0.0, 0.0],
        "disturbance": [0.0, 0.0],
    },
    "clik_tracker": {
        "weights": [1.0] * 7,
        "controlled": [1.0] * 6,
        "posture": [],
        "circle.center": [0.5, 0.0, 0.68],
    },
    "bang_bang_planner": {"goal": []},
}
"""Defaults of lists as returned by get_parameters."""
OWN = {"use_sim_time", "start_type_description_service"}


@pytest.mark.parametrize(
    ("node", "parameters", "words"),
    [
        (SimulatorNode, {"stepp": 0.1}, ["unknown parameter 'stepp'", "did you mean 'step'"]),
        (SimulatorNode, {"step": 1}, ["'step' must be", "decimal point, got 1"]),
        (SimulatorNode, {"step": "fast"}, ["'step' must be", "decimal point, got 'fast'"]),
        (SimulatorNode, {"step": 100.0}, ["'step' must be between 1e-06 and 1 s, got 100"]),
        (SimulatorNode, {"step": -0.1}, ["'step' must be between 1e-06 and 1 s, got -0.1"]),
        (SimulatorNode, {"step": ".nan"}, ["'step' must be between 1e-06 and 1 s, got nan"]),
        (
            SimulatorNode,
            {"mode": "quick"},
            ["'mode' must be one of real_time, fast", "got 'quick'"],
        ),
        (SimulatorNode, {"publish_clock": 3}, ["'publish_clock' must be true or false, got 3"]),
        (SimulatorNode, {"robot": "ibm"}, ["robot 'ibm' is not shipped", "ibm7535"]),
        (SimulatorNode, {"robot": "/no/such.urdf"}, ["/no/such.urdf", "no such file"]),
        (SimulatorNode, {"initial_position": [0.1]}, ["initial_position", "(1,)", "(2,)"]),
        (SimulatorNode, {"initial_position": [9.0, 0.0]}, ["'shoulder' must be", "-3.14159"]),
        (SimulatorNode, {"initial_position": "[.nan, 0.0]"}, ["initial_position", "nan"]),
        (SimulatorNode, {"lock": "elbow"}, ["lock", "'elbow'", "JOINT=POSITION"]),
        (SimulatorNode, {"lock": "elbo=0.1"}, ["no joint 'elbo'", "did you mean 'elbow'"]),
        (SimulatorNode, {"tip": "hand"}, ["no link 'hand'", "tool0"]),
        (BangBangPlannerNode, {"goal": [4.0, 0.0]}, ["goal of joint 'shoulder' must be"]),
        (BangBangPlannerNode, {"goal": [0.0]}, ["'goal'", "(1,)", "(2,)"]),
        (BangBangPlannerNode, {"transport_delay": "slow"}, ["a number or 'auto', got 'slow'"]),
        (BangBangPlannerNode, {"transport_delay": True}, ["a number or 'auto', got True"]),
        (BangBangPlannerNode, {"transport_delay": 2}, ["between 0 and 1 s, got 2"]),
    ],
)
def test_an_invalid_parameter_is_rejected_at_the_start(ros, node, parameters, words):
    with pytest.raises(ManipDynError) as error:
        ros.start(node, **({"robot": "ibm7535"} | parameters))
    assert all(word in str(error.value) for word in words), str(error.value)


def test_an_empty_list_is_treated_as_not_set(ros):
    """`ros2 param dump` writes unset lists as empty ones; its output must be loadable."""
    states = ros.listen(JointState, "joint_states")
    ros.start(SimulatorNode, robot="ibm7535", initial_position=[], disturbance=[])
    ros.until(lambda: states, "no joint states")


def test_a_rejected_node_is_destroyed(ros):
    with pytest.raises(ManipDynError) as error:
        ros.start(SimulatorNode, robot="ibm7535", step=-0.1)
    names = ros.probe.get_node_names()
    assert "simulator" not in names, f"the node still exists after '{error.value}'"


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"circle.normal": [0.0, 0.0, 0.0]}, ["normal", "span a plane"]),
        ({"circle.center": [3.0, 0.0, 0.0]}, ["within reach and limits of 'pa10'"]),
        ({"circle.linear_speed": 0.0}, ["must be between 1e-06 and 100 m/s, got 0"]),
        ({"circle.center": [0.5, 0.0]}, ["'circle.center'", "(2,)", "(3,)"]),
        ({"path": "spiral"}, ["'path' must be one of circle", "got 'spiral'"]),
        (
            {"path": "line", "line.start": [0.5, 0.0, 0.5]},
            ["'line.end' must have 3 numbers, got none"],
        ),
        (
            {
                "path": "lissajous",
                "lissajous.amplitudes": [0.1, 0.1, 0.1],
                "lissajous.frequencies": [1.5, 1.0, 1.0],
            },
            ["'lissajous.*'", "must be integers"],
        ),
        ({"path": "waypoints", "waypoints.poses": [0.5] * 7}, ["'waypoints.poses'", "got 7"]),
        ({"path": "csv"}, ["'csv.file' must be", "got ''"]),
        ({"path": "csv", "csv.file": "/no/such.csv"}, ["/no/such.csv"]),
        ({"method": "taylor"}, ["'method' must be one of", "got 'taylor'"]),
        ({"inverse": "transpose"}, ["'inverse' must be one of", "got 'transpose'"]),
        ({"gain": 50.0}, ["gain * step must be at most 2.785 with rk4", "got 5"]),
        ({"posture_gain": 1.0}, ["posture must be joint positions"]),
        ({"controlled": [1.0, 0.0]}, ["'controlled'", "six numbers"]),
        (
            {"mode": "dynamic", "step": 0.001, "joint_damping": 3000.0},
            ["0 < joint_stiffness", "3000"],
        ),
    ],
)
def test_impossible_tracking_is_rejected(ros, parameters, words):
    with pytest.raises(ManipDynError) as error:
        ros.start(ClikTrackerNode, **(NODES["clik_tracker"][1] | parameters))
    assert all(word in str(error.value) for word in words), str(error.value)


@pytest.mark.parametrize(
    ("name", "value", "success", "words"),
    [
        ("gain", 4.0, True, ""),
        ("gain", 50.0, False, "gain * step must be at most"),
        ("posture_gain", 1.0, False, "posture must be joint positions"),
        ("step", 0.01, False, "'step' can be set only at the start of the node: restart"),
    ],
)
def test_the_law_is_set_at_run_time(ros, name, value, success, words):
    ros.start(ClikTrackerNode, **NODES["clik_tracker"][1])
    result = ros.set_together("clik_tracker", **{name: value})
    assert result.successful is success, result.reason
    assert words in result.reason


def test_a_rejected_start_is_one_line_and_exit_code_2(tmp_path):
    file = tmp_path / "params.yaml"
    file.write_text("/**/simulator:\n  ros__parameters:\n    robott: pa10\n")
    code, log = run_node("simulator", "--params-file", str(file))
    assert code == 2
    lines = [line for line in log.splitlines() if line.strip()]
    assert len(lines) == 1
    assert "unknown parameter 'robott'; did you mean 'robot'?" in lines[0]


def test_broken_urdf_is_one_line_and_exit_code_2(tmp_path):
    urdf = tmp_path / "broken.urdf"
    urdf.write_text("<robot name='broken'><link name='a'></robot>")
    code, log = run_node("simulator", "-p", f"robot:={urdf}")
    assert code == 2
    assert "not well-formed" in log
    assert "Traceback" not in log


def test_unreadable_parameters_file_is_exit_code_2(tmp_path):
    file = tmp_path / "params.yaml"
    file.write_text("simulator: [")
    code, log = run_node("simulator", "--params-file", str(file))
    assert code == 2
    assert "Traceback" not in log
    assert str(file) in log


@pytest.mark.parametrize("name", NODES)
def test_every_parameter_is_described(ros, name):
    node_class, parameters = NODES[name]
    ros.start(node_class, **parameters)
    listed = ros.call(ListParameters, f"{name}/list_parameters").result.names
    request = DescribeParameters.Request(names=[n for n in listed if n not in OWN])
    described = ros.call(DescribeParameters, f"{name}/describe_parameters", request).descriptors
    assert len(described) > 8
    for descriptor in described:
        assert len(descriptor.description) > 10, descriptor.name
        if descriptor.type == ParameterType.PARAMETER_DOUBLE:
            assert descriptor.floating_point_range, descriptor.name
    response = ros.call(
        GetParameters, f"{name}/get_parameters", GetParameters.Request(names=listed)
    )
    assert [descriptor.type for descriptor in described] == [
        value.type
        for key, value in zip(listed, response.values, strict=True)  # all parameters have values
        if key not in OWN
    ]
    values = dict(zip(listed, response.values, strict=True))
    for key, numbers in DEFAULTS[name].items():
        assert list(values[key].double_array_value) == numbers, key
    lists = [
        descriptor
        for descriptor in described
        if descriptor.type == ParameterType.PARAMETER_DOUBLE_ARRAY
    ]
    changing = {descriptor.name for descriptor in lists if not descriptor.additional_constraints}
    assert changing == ({"disturbance"} if name == "simulator" else set())


@pytest.mark.parametrize(
    ("name", "value", "success", "words"),
    [
        ("real_time_factor", 2.0, True, ""),
        ("real_time_factor", -1.0, False, "out of range"),
        (
            "control_period",
            0.01,
            False,
            "can be set only at the start of the node: restart the node",
        ),
        ("initial_position", [0.1] * 7, False, "'initial_position' can be set only at the start"),
        ("robot", "rr", False, "'robot' can be set only at the start"),
        ("step", 0.01, False, "paused"),
    ],
)
def test_setting_at_run_time(ros, name, value, success, words):
    ros.start(SimulatorNode, **NODES["simulator"][1])
    (result,) = ros.set_parameters("simulator", **{name: value})
    assert result.successful is success
    assert words in result.reason


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"integrator": "rkdp87", "rtol": 1e-10}, ""),
        ({"integrator": "taylor", "taylor_order": 12}, ""),
        ({"integrator": "ab4", "step": 1e-4}, ""),
        ({"integrator": "rk44"}, "rk44"),
        ({"integrator": "rk4", "rtol": 1e-6}, "no error estimate"),
        ({"integrator": "taylor"}, "without tolerances"),
    ],
)
def test_the_integrator_is_changed_while_paused(ros, changes, words):
    """The motion continues from the same state; invalid combinations are rejected."""
    states = ros.listen(JointState, "joint_states")
    free = {"safe_command": "zero", "initial_velocity": [1.0, -1.0]}
    ros.start(SimulatorNode, robot="ibm7535", mode="lockstep", **free)
    ros.call(SetBool, "simulator/pause", SetBool.Request(data=True))
    before = ros.call(Trigger, "simulator/step")
    assert before.success
    ros.until(lambda: states, "no joint states")
    result = ros.set_together("simulator", **changes)
    assert result.successful is (words == ""), result.reason
    assert words in result.reason
    for _ in range(3):
        assert ros.call(Trigger, "simulator/step").success
    ros.until(lambda: states[-1].header.stamp.nanosec >= 4_000_000, "no fourth state")
    exact = md.simulate(md.load_robot("ibm7535"), [0, 0], [1.0, -1.0], [0, 0], 0.004, 1e-4)
    np.testing.assert_allclose(states[-1].position, exact.q[-1], atol=1e-12)


def test_diagnostics_count_the_steps(ros):
    reports = ros.listen(DiagnosticArray, "/diagnostics")
    ros.start(SimulatorNode, robot="ibm7535", integrator="rkdp54", rtol=1e-8)

    def current_values():
        return {item.key: item.value for item in reports[-1].status[0].values}

    ros.until(lambda: reports and int(current_values()["steps"]) > 0, "no diagnostics of steps")
    values = current_values()
    assert values["integrator"] == "rkdp54"
    assert int(values["evaluations"]) >= 6 * int(values["steps"]) > 0
    assert int(values["failures"]) >= 0
