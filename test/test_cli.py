"""The command line: answers of the API, one line and exit code 2 for bad input."""

import json

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.cli import main

CIRCLE = [
    "pa10",
    "--center=0,0.4,0.6",
    "--normal=0,1,0",
    "--first=-1,0,0",
    "--rpy=0,0.785,0",
    "--start=2.69,0.51,-0.24,1.42,0.87,-2.41,-2",
]


def test_plan_answers_as_the_api(capsys):
    assert main(["plan", "ibm7535", "--start", "0.975,0", "--goal", "0,0", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    plan = md.plan_zero_net_work(md.load_robot("ibm7535"), [0.975, 0.0], [0.0, 0.0])
    assert answer["status"] == plan.status == "solved"
    assert answer["arrival_times"] == {"shoulder": plan.t_final, "elbow": 0.0}
    assert answer["t_final"] == plan.t_final
    assert answer["switch_times"] == {"shoulder": plan.switch_times[0], "elbow": []}


def test_plan_of_minimum_time_has_its_certificate(capsys):
    arguments = ["plan", "ibm7535", "--start", "0.975,0", "--goal", "0,0", "--json"]
    assert main([*arguments, "--method", "minimum_time"]) == 0
    answer = json.loads(capsys.readouterr().out)
    plan = md.plan_minimum_time(md.load_robot("ibm7535"), [0.975, 0.0], [0.0, 0.0])
    assert answer["t_final"] == plan.t_final
    assert answer["certificate"]["holds"]
    assert answer["certificate"]["boundary"] == plan.certificate.boundary


@pytest.mark.parametrize("method", ["zero_net_work", "minimum_time"])
def test_plan_draws_a_picture(tmp_path, method):
    file = tmp_path / "plan.png"
    arguments = ["plan", "ibm7535", "--start", "0.975,0", "--goal", "0,0", "--plot", str(file)]
    assert main([*arguments, "--method", method]) == 0
    assert file.read_bytes().startswith(b"\x89PNG")


def test_simulate_answers_as_the_api(capsys):
    assert main(["simulate", "ibm7535", "--effort", "1,0", "--duration", "0.1", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    run = md.simulate(md.load_robot("ibm7535"), [0, 0], [0, 0], [1.0, 0.0], 0.1)
    np.testing.assert_allclose(answer["q"], run.q[-1], rtol=1e-12)
    assert answer["success"]


def test_simulate_takes_any_method(capsys):
    arguments = ["simulate", "rr", "--start=0.5,0.3", "--json"]
    assert main([*arguments, "--method", "rkdp87", "--rtol", "1e-10"]) == 0
    fine = json.loads(capsys.readouterr().out)
    assert main([*arguments, "--method", "taylor", "--order", "12", "--step", "0.01"]) == 0
    np.testing.assert_allclose(json.loads(capsys.readouterr().out)["q"], fine["q"], atol=1e-8)
    assert fine["evaluations"] > 13
    assert main([*arguments, "--method", "rk44"]) == 2
    assert "did you mean 'rk4'" in capsys.readouterr().err


def test_methods_are_listed(capsys):
    assert main(["methods"]) == 0
    assert "| `rkdp87` | 8 | 7 | 13 |" in capsys.readouterr().out


def test_track_answers_and_a_coarse_step_is_worse(capsys):
    errors = []
    for step in ("0.1", "0.2"):
        assert main(["track", *CIRCLE, "--json", "--step", step]) == 0
        errors.append(json.loads(capsys.readouterr().out)["max_position_error_m"])
    assert errors[0] < 1e-6 < errors[1]


def test_robots_lists_and_describes(capsys):
    assert main(["robots"]) == 0
    assert "pa10" in capsys.readouterr().out
    assert main(["robots", "pa10", "--lock", "S3=0.0"]) == 0
    text = capsys.readouterr().out
    assert "pa10: 6 joints, base_link to tool0" in text
    assert "E1" in text
    assert "S3" not in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["plan", "ibm7535", "--start", "0,x", "--goal", "0,0"], "--start is '0,x'"),
        (["plan", "ibm7535", "--start", "0", "--goal", "0,0"], "start has shape (1,)"),
        (["plan", "ibm7535", "--start", "nan,0", "--goal", "0,0"], "start is [nan, 0.0]"),
        (["plan", "ibm", "--start", "0,0", "--goal", "0,0"], "robot 'ibm' is not shipped"),
        (["simulate", "ibm7535", "--duration", "-1"], "duration is -1 s"),
        (["simulate", "ibm7535", "--step", "0"], "step is 0 s"),
        (["robots", "pa10", "--lock", "S3"], "--lock S3 is ''"),
        (["robots", "pa10", "--xacro", "a=1"], "has the entry 'a=1'; expected NAME:=VALUE"),
        (["robots", "pa10", "--xacro", "a:=1 2"], "takes no xacro arguments, given a"),
        (["robots", "pa10", "--tip", "toll0"], "did you mean 'tool0'"),
        (["track", "pa10", "--center=9,0,0"], "not reached by 'pa10'"),
        (
            ["plan", "ibm7535", "--start", "1,0", "--goal", "0,0", "--plot", "/no/folder/a.png"],
            "plot '/no/folder/a.png' cannot be written",
        ),
        (["demo", "pa10"], "scenario 'pa10' is unknown"),
        (["demo", "pa10_circle", "--mode", "warp"], "mode 'warp'"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(capsys, arguments, words):
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert captured.err.startswith("manip_dyn: ")
    assert len(captured.err.strip().splitlines()) == 1


@pytest.mark.parametrize("command", ["demo", "robots", "plan", "simulate", "track"])
def test_help_explains_every_option(capsys, command):
    with pytest.raises(SystemExit) as end:
        main([command, "--help"])
    assert end.value.code == 0
    text = capsys.readouterr().out
    assert f"usage: manip_dyn {command}" in text
    assert len(text.splitlines()) > 8


def test_a_misspelt_command_gets_a_hint(capsys):
    assert main(["simulat"]) == 2
    told = capsys.readouterr().err
    assert told == "manip_dyn: there is no command 'simulat'; did you mean 'simulate'?\n"
