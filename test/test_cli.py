"""The command line: results of the API, and one line with exit code 2 for bad input."""

import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from importlib.util import find_spec

import numpy as np
import pytest
from command_line import parser_of
from fresh import Fresh
from scipy.spatial.transform import Rotation

import manip_dyn as md
from manip_dyn.bench import SUITES
from manip_dyn.cli import (
    COMMANDS,
    installation,
    main,
    motions,
    parser,
    recordings,
    robots,
    terminal,
)
from manip_dyn.core import Terminated, bundled_robots, raise_terminated, run_uninterrupted
from manip_dyn.demo import scenario, wait_for_interrupt
from manip_dyn.export import straight_kernels
from manip_dyn.studies import paper

CIRCLE = [
    "pa10",
    "--center=0,0.4,0.6",
    "--normal=0,1,0",
    "--first=-1,0,0",
    "--rpy=0,0.785,0",
    "--start=2.69,0.51,-0.24,1.42,0.87,-2.41,-2",
]
RECORDS = pytest.mark.skipif(not find_spec("mcap"), reason="pip install 'manip_dyn[record]'")


def test_plan_agrees_with_the_api(capsys):
    assert main(["plan", "ibm7535", "--start", "0.975,0", "--goal", "0,0", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    plan = md.plan_zero_net_work(md.load_robot("ibm7535"), [0.975, 0.0], [0.0, 0.0])
    assert answer["status"] == plan.status == "solved"
    assert answer["arrival_times"] == {"shoulder": plan.t_final, "elbow": 0.0}
    assert answer["t_final"] == plan.t_final
    assert answer["switch_times"] == {"shoulder": plan.switch_times[0], "elbow": []}


def test_plan_prints_the_certificate_of_minimum_time(capsys):
    arguments = ["plan", "ibm7535", "--start", "0.975,0", "--goal", "0,0", "--json"]
    assert main([*arguments, "--method", "minimum_time"]) == 0
    answer = json.loads(capsys.readouterr().out)
    plan = md.plan_minimum_time(md.load_robot("ibm7535"), [0.975, 0.0], [0.0, 0.0], budget=None)
    assert answer["t_final"] == plan.t_final
    assert answer["certificate"]["holds"]
    assert answer["certificate"]["boundary"] == plan.certificate.boundary


def test_plan_accepts_options_of_minimum_time(capsys):
    arguments = ["plan", "ibm7535", "--start", "0.8,0", "--goal", "0,0", "--v0=0,-1"]
    assert main([*arguments, "--method", "minimum_time", "--budget", "60", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    plan = md.plan_minimum_time(md.load_robot("ibm7535"), [0.8, 0], [0, 0], v0=[0, -1], budget=60)
    assert answer["t_final"] == pytest.approx(plan.t_final, abs=plan.certificate.gap)
    assert main(arguments) == 2
    assert (
        "--v0 requires --method minimum_time, got 0,-1 with --method zero"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize("budget", ["0", "none"])
def test_plan_prints_valid_json_for_every_budget(capsys, budget):
    """JSON has no infinity: a motion that did not converge has no gap."""
    arguments = ["plan", "ibm7535", "--start", "0.8,0", "--goal", "0,0", "--budget", budget]
    assert main([*arguments, "--method", "minimum_time", "--json"]) == 0

    def invalid(constant):
        raise AssertionError(f"{constant} is not JSON")

    answer = json.loads(capsys.readouterr().out, parse_constant=invalid)
    assert answer["status"] == {"0": "uncertified", "none": "solved"}[budget]
    assert "inf" not in answer["reason"]
    assert "is_unique" in answer


LONG = """
import hashlib, sys
from manip_dyn.cli import main, motions

def compiled(*_, **__):
    print("begun", flush=True)
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)  # without the interpreter's lock, too

motions.simulate = compiled
sys.exit(main(["simulate", "rr"]))
"""


def test_ctrl_c_ends_a_call_that_does_not_return(tmp_path):
    """Regression: the signal had no effect until the compiled loop ended, minutes later."""
    began = tmp_path / "began"
    begun = f"import os; os.dup2(os.open({str(began)!r}, os.O_WRONLY | os.O_CREAT), 1)"
    process = Fresh(begun + LONG)
    end = time.monotonic() + 600.0
    while not (began.exists() and "begun" in began.read_text()):
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGINT)
    ended = process.wait()
    assert (ended.returncode, ended.stderr) == (130, "\nmanip_dyn: stopped\n")


def test_exit_codes_of_signals_are_those_of_shells(capsys, monkeypatch):
    """Regression: 130, the code of Ctrl-C, after SIGTERM."""

    def ended(number):
        def table(*_, **__):
            os.kill(os.getpid(), number)
            time.sleep(600.0)

        monkeypatch.setattr(robots, "print_table", table)
        before = signal.signal(number, raise_terminated)
        try:
            return main(["methods"])
        finally:
            signal.signal(number, before)

    assert ended(signal.SIGTERM) == 143
    assert ended(signal.SIGHUP) == 129
    assert capsys.readouterr().err == 2 * "\nmanip_dyn: stopped\n"


IN_AN_EXEC = """
import io, sys
from manip_dyn.cli import main

class Output(io.StringIO):
    def write(self, text):
        exec("raise KeyboardInterrupt")

sys.stdout = Output()
sys.exit(main(["methods"]))
"""


def test_ctrl_c_during_exec_of_a_string_ends_with_exit_code_130(tmp_path):
    """Regression: CPython ended ``python -m`` by SIGINT, although the exception was caught."""
    (tmp_path / "program.py").write_text(IN_AN_EXEC)
    command = [sys.executable, "-m", "program"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 130, done.stderr


def test_sigterm_ends_a_sweep_like_ctrl_c(monkeypatch, tmp_path):
    """Regression: "resource_tracker: There appear to be 5 leaked semaphore objects"."""

    def interrupted(*_, **__):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(600.0)

    monkeypatch.setattr("manip_dyn.ensembles.sweeps.sweep", interrupted)
    before = signal.getsignal(signal.SIGTERM)
    out = str(tmp_path / "out")
    assert main(["sweep", "ibm7535_mass_error", "--out", out, "--json"]) == 143
    assert signal.getsignal(signal.SIGTERM) is before


def test_signals_are_deferred_while_processes_start():
    """Regression: a traceback of a process that was interrupted while it started."""
    before, begun = signal.signal(signal.SIGTERM, raise_terminated), []

    def started():
        os.kill(os.getpid(), signal.SIGTERM)
        begun.append(signal.pthread_sigmask(signal.SIG_BLOCK, []))

    def start():
        run_uninterrupted(started, inherited=True)
        time.sleep(600.0)

    try:
        with pytest.raises(Terminated):
            start()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert [signal.SIGINT in mask for mask in begun] == [True]
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


@pytest.mark.parametrize("name", ["bad name!", "/1st", "a//b", "ä"])
def test_an_invalid_namespace_is_rejected(name):
    with pytest.raises(md.ManipDynError, match=f"--namespace must be names of .*, got '{name}'"):
        recordings.run_node("recorder", name, {}, print)


def test_numbers_may_start_with_a_minus_sign(capsys):
    arguments = ["plan", "ibm7535", "--goal", "0,0", "--json"]
    assert main([*arguments, "--start", "-0.8,0"]) == 0
    apart = capsys.readouterr().out
    assert main([*arguments, "--start=-0.8,0"]) == 0
    assert capsys.readouterr().out == apart


def test_values_are_printed_with_nine_digits():
    content = {"a": [1 / 3, "x"], "b": {"c": 2e-15 / 3, "d": True}, "e": 7}
    printed = [parser.format_value(value) for value in content.values()]
    assert printed == ["[0.333333333, x]", "c: 6.66666667e-16, d: True", "7"]


@pytest.mark.parametrize("method", ["zero_net_work", "minimum_time"])
def test_plan_draws_a_picture(tmp_path, method):
    file = tmp_path / "plan.png"
    arguments = ["plan", "ibm7535", "--start", "0.975,0", "--goal", "0,0", "--plot", str(file)]
    assert main([*arguments, "--method", method]) == 0
    assert file.read_bytes().startswith(b"\x89PNG")


def test_simulate_agrees_with_the_api(capsys):
    assert main(["simulate", "ibm7535", "--effort", "1,0", "--duration", "0.1", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    run = md.simulate(md.load_robot("ibm7535"), [0, 0], [0, 0], [1.0, 0.0], 0.1)
    np.testing.assert_allclose(answer["q"], run.q[-1], rtol=1e-12)
    assert answer["success"]


def test_simulate_prints_saturated_efforts(capsys):
    arguments = ["simulate", "ibm7535", "--duration", "0.01", "--json"]
    assert main([*arguments, "--effort=-1,500"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["saturated"] == ["elbow (500 commanded, 9 applied)"]
    assert main([*arguments, "--effort=-1,9"]) == 0
    assert json.loads(capsys.readouterr().out)["saturated"] == []


def test_simulate_accepts_any_method(capsys):
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


def test_track_is_less_accurate_with_a_coarse_step(capsys):
    errors = []
    for step in ("0.1", "0.2"):
        assert main(["track", *CIRCLE, "--json", "--step", step]) == 0
        errors.append(json.loads(capsys.readouterr().out)["max_position_error_m"])
    assert errors[0] < 1e-6 < errors[1]


def test_track_searches_for_the_best_start(capsys):
    command = ["track", *CIRCLE, "--duration", "1", "--start", "best", "--json"]
    assert main(command) == 0
    answer = json.loads(capsys.readouterr().out)
    tool = Rotation.from_euler("xyz", [0.0, 0.785, 0.0]).as_matrix()
    path = md.Circle([0.0, 0.4, 0.6], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], tool, 0.1, 0.2)
    best = md.track(md.load_robot("pa10"), path, "rk4", 0.1, "best", 1.0)
    assert answer["start_rad"] == best.q[0].tolist()
    assert main([*command[:-2], "beast"]) == 2
    assert "--start must be comma-separated numbers, got 'beast'." in capsys.readouterr().err


def test_export_agrees_with_the_api(tmp_path, capsys):
    command = ["export", "rr", "--c", str(tmp_path / "a"), "--kernels", "all", "--float", "--ros"]
    assert main(command) == 0
    printed = capsys.readouterr().out.splitlines()
    kernels = straight_kernels(md.load_robot("rr"))
    files = md.export_c(md.load_robot("rr"), tmp_path / "b", kernels, precision="float", ros=True)
    assert printed == [str(tmp_path / "a" / file.name) for file in files]
    for file in files:
        assert (tmp_path / "a" / file.name).read_text() == file.read_text()


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
        (
            ["plan", "ibm7535", "--start", "0,x", "--goal", "0,0"],
            "--start must be comma-separated numbers, got '0,x'.",
        ),
        (
            ["plan", "ibm7535", "--start", "0", "--goal", "0,0"],
            "--start must have 2 comma-separated numbers (shoulder, elbow), got '0'.",
        ),
        (
            ["plan", "ibm7535", "--start", "nan,0", "--goal", "0,0"],
            "start must be finite numbers, got [nan, 0.0]",
        ),
        (["plan", "ibm", "--start", "0,0", "--goal", "0,0"], "robot 'ibm' is not shipped"),
        (["simulate", "ibm7535", "--duration", "-1"], "duration must be above 0, got -1 s"),
        (["simulate", "ibm7535", "--start=1"], "--start must have 2 comma-separated numbers"),
        (["plan", "ibm7535", "--start=1,1", "--goal=1,2,3"], "--goal must have 2 comma-separated"),
        (["simulate", "ibm7535", "--step", "0"], "step must be above 0, got 0 s"),
        (["robots", "pa10", "--lock", "S3"], "--lock S3 must be comma-separated numbers, got ''."),
        (["robots", "pa10", "--xacro", "a=1"], "must be NAME:=VALUE, got 'a=1'"),
        (
            ["robots", "pa10", "--xacro", "a:=1 2"],
            "with arguments a",
        ),
        (["robots", "pa10", "--tip", "toll0"], "did you mean 'tool0'"),
        (["track", "pa10", "--center=9,0,0"], "within reach and limits of 'pa10'"),
        (
            ["plan", "ibm7535", "--start", "1,0", "--goal", "0,0", "--plot", "/no/folder/a.png"],
            "--plot '/no/folder/a.png' cannot be written: there is no folder '/no/folder'",
        ),
        (["replay", "/no/a.mcap"], "recording '/no/a.mcap' cannot be read: No such file"),
        (["simulate", "rr", "--csv", "/no/a.csv"], "--csv '/no/a.csv' cannot be written"),
        (["simulate", "rr", "--csv", "/"], "--csv '/' cannot be written: it is a folder"),
        (["track", "rr", "--plot", "a.txt"], "--plot must end in .png, .svg, .pdf, got 'a.txt'."),
        pytest.param(
            ["simulate", "rr", "--record", "a.bag"],
            "name of a recording must end in .mcap, got 'a.bag'",
            marks=RECORDS,
        ),
        pytest.param(
            ["simulate", "rr", "--record", "/no/a.mcap"],
            "--record '/no/a.mcap' cannot be written",
            marks=RECORDS,
        ),
        (["record", "a.bag"], "name of a recording must end in .mcap, got 'a.bag'"),
        (["record", "/no/a.mcap"], "FILE '/no/a.mcap' cannot be written: there is no folder"),
        (["demo", "pa10_circle", "--record", "a.bag"], "must end in .mcap, got 'a-"),
        (["export", "rr", "--c", "/proc/rr"], "'/proc/rr' cannot be written: No such file"),
        (["export", "rr", "--c", "rr", "--kernels", "gravit"], "did you mean 'gravity'"),
        (["demo", "pa10"], "scenario must be a shipped scenario, got 'pa10'"),
        (["prepare", "--cores", "0"], "arguments: --cores. See manip_dyn prepare --help."),
        (["plan", "rr", "--goal", "0,0"], "--start. See manip_dyn plan --help."),
        (["plan", "rr", "--start", "--goal", "0,0"], "--start: expected one argument. See"),
        (["simulate", "rr", "--durations", "3"], "unrecognized arguments: --durations 3. See"),
        (["simulate", "rr", "--duration", "long"], "--duration: invalid float value: 'long'. See"),
        (["--bogus", "plan"], ". See manip_dyn --help."),
        (["export", "rr"], "arguments are required: --c. See manip_dyn export --help."),
        ([], "required: COMMAND. See manip_dyn --help."),
        (["demo", "pa10_circle", "--mode", "warp"], "got 'warp'"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(capsys, arguments, words):
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert captured.err.startswith("manip_dyn: ")
    assert len(captured.err.strip().splitlines()) == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_help_explains_every_option_and_ends_with_examples(capsys, command):
    with pytest.raises(SystemExit) as end:
        main([command, "--help"])
    assert end.value.code == 0
    text = capsys.readouterr().out
    assert f"usage: manip_dyn {command}" in text
    assert len(text.splitlines()) > 8
    summary = text.split("\n\n")[1]
    assert summary.lower() == f"{COMMANDS[command].summary.lower()}."
    examples = text.partition("\nexamples:\n")[2].splitlines()
    assert any(f"manip_dyn {command}" in line for line in examples)
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("order", [1, -1])
def test_help_of_a_benchmark_suite_describes_the_suite(capsys, suite, order):
    """The help contains the purpose, the rows and the duration of the suite."""
    with pytest.raises(SystemExit) as end:
        main(["bench", *[suite, "--help"][::order]])
    assert end.value.code == 0
    text = capsys.readouterr().out
    about, _, examples = text.partition("\noptions:")[0], *text.partition("\nexamples:\n")[1:]
    assert re.search(r"(?i)\brows?\b.*(about \d+ s|a few minutes)\.", about.replace("\n", " "))
    assert examples.startswith(f"  manip_dyn bench {suite}\n")
    for line in examples.splitlines():
        assert parser_of("bench").parse_args(shlex.split(line)[2:]).suite == suite


def shown_examples():
    """Yield the examples in the help of all commands as lists of words."""
    for command in COMMANDS:
        lines = (parser_of(command).epilog or "").replace("\\\n", " ").splitlines()[1:]
        for line in lines:
            yield shlex.split(re.sub(r'eval "\$\((.*?)\)"', r"\1", line), comments=True)


@pytest.mark.parametrize("words", list(shown_examples()), ids=" ".join)
def test_examples_in_the_help_are_valid(words):
    """Options, robots, scenarios, papers and items exist."""
    if ">" in words:
        words = words[: words.index(">")]
    options = parser_of(words[1]).parse_args(words[2:])
    if words[1] == "study" and words[2] != "all":
        assert options.item in paper(options.paper).ITEMS
    elif words[1] == "demo" and options.scenario:
        assert options.mode in {None, *(run.label for run in scenario(options.scenario).runs)}
    elif words[1] in ("plan", "simulate", "track"):
        assert options.robot in (*bundled_robots(), "my_arm.urdf")


def test_the_version_is_printed(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"manip_dyn {md.__version__}\n"


class Terminal(io.StringIO):
    """Replacement of standard output that is a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def screen(monkeypatch):
    """Return a function that replaces standard output by a terminal of 60 columns."""
    pytest.importorskip("rich")
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "60")

    def begin():  # in the test itself: pytest sets standard output before each
        monkeypatch.setattr(sys, "stdout", Terminal())
        return sys.stdout

    return begin


COLOUR = re.compile(r"\x1b\[(?:[0-9;]*;)?3[0-9](?:;[0-9]+)*m")
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


def test_tables_on_a_terminal_have_colours_and_fit_the_width(screen):
    output = screen()
    assert main(["robots", "pa10"]) == main(["methods"]) == main(["robots"]) == 0
    text = output.getvalue()
    assert COLOUR.search(text)
    shown = ESCAPE.sub("", text)
    assert max(map(len, shown.splitlines())) <= 60
    assert re.search(r"^S1 +revolute +-3.089 +3.089 +1 +232 *$", shown, re.MULTILINE)


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colours_can_be_disabled(screen, monkeypatch, capsys, name, value):
    output = screen()
    monkeypatch.setenv(name, value)
    assert main(["robots", "pa10"]) == 0
    with pytest.raises(SystemExit):
        main(["robots", "--help"])
    assert not COLOUR.search(output.getvalue())
    assert "S1" in output.getvalue()


def test_help_and_errors_on_a_terminal_are_coloured(screen, monkeypatch):
    output = screen()
    monkeypatch.setattr(sys, "stderr", Terminal())
    with pytest.raises(SystemExit):
        main(["robots", "--help"])
    assert COLOUR.search(output.getvalue())
    assert main(["robots", "pa1"]) == 2
    assert COLOUR.search(sys.stderr.getvalue())
    message = ESCAPE.sub("", sys.stderr.getvalue())
    assert message.startswith("manip_dyn: robot 'pa1' is not shipped")


def test_a_bar_shows_the_completed_fraction(screen):
    output = screen()
    bar = terminal.Bar("working")
    bar(0.5)
    bar(1.0)
    bar.close()
    assert "100%" in ESCAPE.sub("", output.getvalue())


def test_a_status_line_appears_after_the_delay(screen, monkeypatch):
    screen()
    errors = Terminal()
    monkeypatch.setattr(sys, "stderr", errors)
    monkeypatch.setattr(terminal, "STATUS_DELAY", 0.0)
    with terminal.status_line("thinking"):
        end = time.monotonic() + 600.0
        while "thinking" not in errors.getvalue() and time.monotonic() < end:
            time.sleep(0.05)
    assert "thinking" in errors.getvalue()


def test_results_are_written_to_tables_and_pictures(capsys, tmp_path):
    table, picture = tmp_path / "a.csv", tmp_path / "a.svg"
    files = ["--csv", str(table), "--plot", str(picture)]
    assert main(["simulate", "rr", "--duration", "0.1", "--start=0.5,0.3", *files]) == 0
    names, *rows = table.read_text().splitlines()
    assert names.startswith("t,position_joint_1,position_joint_2,velocity_joint_1")
    run = md.simulate(md.load_robot("rr"), [0.5, 0.3], [0, 0], [0, 0], 0.1)
    values = np.array([row.split(",") for row in rows], dtype=float)
    np.testing.assert_array_equal(values, np.column_stack([run.t, run.q, run.v, run.tau]))
    assert picture.read_text().count("<svg") == 1
    goal = ["ibm7535", "--start", "0.975,0", "--goal", "0,0", "--csv", str(table)]
    assert main(["plan", *goal]) == 0
    assert table.read_text().splitlines()[-1].split(",")[1:3] == ["0.0", "0.0"]
    assert main(["track", *CIRCLE, "--duration", "1", *files]) == 0
    assert (
        table.read_text().splitlines()[0].endswith("velocity_W2,position_error,orientation_error")
    )


def test_results_are_written_to_recordings(capsys, tmp_path):
    pytest.importorskip("mcap")
    pytest.importorskip("rosbags")
    file = tmp_path / "a.mcap"
    arguments = ["simulate", "rr", "--duration", "0.1", "--start=0.5,0.3", "--record", str(file)]
    assert main(arguments) == 0
    assert md.recording.read(file).q[0].tolist() == [0.5, 0.3]
    content = file.read_bytes()
    assert main(arguments) == 2
    assert "recording must be a new file, but " in capsys.readouterr().err
    assert file.read_bytes() == content


@pytest.mark.parametrize("topics", [{}, {"/rosout": 3}])
def test_an_empty_recording_is_reported_and_removed(capsys, monkeypatch, tmp_path, topics):
    pytest.importorskip("mcap")
    file = tmp_path / "a.mcap"

    def run(_name, _namespace, _parameters, report):
        file.write_bytes(b"begin and end")
        report(recorded=str(file), messages=sum(topics.values()), topics=topics, lost={})
        return 0

    monkeypatch.setattr(recordings, "run_node", run)
    assert main(["record", str(file)]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("manip_dyn: no messages received in this ROS domain")
    assert (file.exists(), bool(captured.out), "is removed" in captured.err) == (
        (True, True, False) if topics else (False, False, True)
    )


def test_files_that_cannot_be_written_are_rejected_before_computing(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(motions, "simulate", lambda *_, **__: pytest.fail("computed"))
    assert main(["simulate", "rr", "--csv", str(tmp_path / "no" / "a.csv")]) == 2
    assert main(["simulate", "rr", "--plot", str(tmp_path / "a.jpeg2")]) == 2


def test_doctor_reports_installed_and_missing_libraries(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("MANIP_DYN_CACHE", str(tmp_path))
    assert main(["doctor", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["core"]["numpy"] == np.__version__
    assert facts["cache"]["folder"] == str(tmp_path)
    assert facts["cache"]["writable"] == "yes"
    find = installation.find_spec
    monkeypatch.setattr(
        installation,
        "find_spec",
        lambda name: None if name in ("yaml", "viser", "tf2_msgs") else find(name),
    )
    assert main(["doctor"]) == 1
    text = capsys.readouterr().out
    assert "problem: yaml is not installed, for YAML files: pip install pyyaml" in text
    if find_spec("rclpy"):
        assert "missing, for tf of the links; apt install ros-jazzy-tf2-msgs" in text
    assert re.search(r"viser +missing, for views .*pip install 'manip_dyn\[view\]'", text)


def test_doctor_and_prepare_agree_on_a_read_only_cache(capsys, monkeypatch):
    """Regression: "writable yes" for a folder in /proc, which root appears to be able to write."""
    if not os.path.isdir("/proc/self"):
        pytest.skip("no /proc")
    monkeypatch.setenv("MANIP_DYN_CACHE", "/proc/nope")
    assert main(["doctor"]) == 1
    text = capsys.readouterr().out
    (problem,) = re.findall("^problem: (.*)$", text, re.MULTILINE)
    assert re.search(r"cache: writable +no$", text, re.MULTILINE)
    assert problem.startswith("the cache folder '/proc/nope' must be writable (")
    assert main(["prepare", "rr"]) == 2
    assert capsys.readouterr().err == f"manip_dyn: {problem}\n"


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("manip_dyn rob", "robots"),
        ("manip_dyn plan --go", "--goal"),
        ("manip_dyn view p", "pa10 panda p.mcap p.urdf parts/"),  # not p.txt
        ("manip_dyn replay p", "p.mcap parts/"),
        ("manip_dyn replay ", "p.mcap parts/"),  # no options
        ("manip_dyn simulate rr --method rkdp8", "rkdp87"),
    ],
)
def test_a_shell_completes_commands_options_names_and_then_files(line, offered, tmp_path):
    pytest.importorskip("argcomplete")
    (tmp_path / "parts").mkdir()
    for name in ("p.urdf", "p.mcap", "p.txt"):
        (tmp_path / name).touch()
    variables = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(tmp_path / "out"),
    }
    variables |= {"COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE_IFS": "\n"}
    command = [sys.executable, "-m", "manip_dyn"]
    subprocess.run(command, env=os.environ | variables, check=True, cwd=tmp_path)
    assert (tmp_path / "out").read_text().split() == offered.split()


@pytest.mark.parametrize("ending", ["view", "demo"])
def test_ctrl_c_ends_a_view_with_exit_code_0(monkeypatch, capsys, ending):
    def interrupted(*_arguments, **_options):
        raise KeyboardInterrupt

    if ending == "demo":
        monkeypatch.setattr("manip_dyn.demo.runs.demo", interrupted)
        assert main(["demo", "--view"]) == 0
        assert main(["demo"]) == 130
        assert "stopped" in capsys.readouterr().err
    else:
        pytest.importorskip("viser", reason="pip install '.[view]'")
        monkeypatch.setattr(time, "sleep", interrupted)
        assert main(["view", "rr", "--port", "0"]) == 0
        assert capsys.readouterr().err == ""


def test_sigterm_ends_the_page_of_a_demo_with_exit_code_143(monkeypatch):
    """Regression: the code was 0, unlike that of `manip_dyn view`."""

    def terminated(_duration):
        raise Terminated

    class Running:
        """A node that does not end."""

        def poll(self):
            return None

    monkeypatch.setattr(time, "sleep", terminated)
    with pytest.raises(Terminated):
        wait_for_interrupt({}, [Running()])


def test_a_table_on_a_full_disk_is_removed(capsys, monkeypatch, tmp_path):
    """Regression: an incomplete table remained without a hint in the error."""
    file = tmp_path / "a.csv"
    command = ["simulate", "rr", "--duration", "5", "--csv", str(file)]
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
        assert main(command) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    message = f"manip_dyn: table '{file}' cannot be written: File too large.\n"
    assert capsys.readouterr().err == message
    assert not file.exists()


def test_an_unusable_cache_is_reported_in_one_line(tmp_path):
    (tmp_path / "file").touch()
    variables = {"MANIP_DYN_CACHE": str(tmp_path / "file" / "cache"), "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-m", "manip_dyn", "simulate", "rr", "--duration", "0.001"]
    result = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True)
    assert result.returncode == 0
    (line,) = result.stderr.splitlines()
    assert line.startswith("manip_dyn: warning: the cache folder")


def test_completion_scripts_are_printed(capsys):
    pytest.importorskip("argcomplete")
    assert main(["completion", "bash"]) == 0
    assert "complete " in capsys.readouterr().out


def test_a_misspelt_command_gets_a_hint(capsys):
    assert main(["simulat"]) == 2
    message = capsys.readouterr().err
    assert message == (
        "manip_dyn: command must be a command of manip_dyn, got 'simulat'; "
        "did you mean 'simulate'?\n"
    )


@pytest.mark.parametrize(("position", "code"), [("[0.6, 0.35, 0.0]", 3), ("[2.0, 2.0, 0.0]", 0)])
def test_plan_is_checked_in_a_scene(position, code, tmp_path, capsys):
    scene = tmp_path / "scene.yaml"
    scene.write_text(
        f"objects: {{post: {{cylinder: {{radius: 0.1, length: 2}}, position: {position}}}}}"
    )
    words = ["plan", "ibm7535", "--start", "0.76,0.2618", "--goal", "0,0", "--json"]
    assert main([*words, "--scene", str(scene)]) == code
    clearance = json.loads(capsys.readouterr().out)["clearance"]
    assert clearance["status"] == ("collision" if code else "clear")
    assert ("post" in clearance["pair"]) == bool(code)


@pytest.mark.parametrize(("position", "code"), [("[0.5, 0.0, 0.6]", 3), ("[2.0, 2.0, 0.0]", 0)])
def test_track_and_simulate_are_checked_in_a_scene(position, code, tmp_path, capsys):
    scene = tmp_path / "scene.yaml"
    scene.write_text(f"objects: {{ball: {{sphere: 0.2, position: {position}}}}}")
    circle = ["track", "pa10", "--center", "0.5,0,0.6", "--rate", "1", "--step", "0.05"]
    fall = ["simulate", "ibm7535", "--duration", "0.1"]
    for words in (circle, fall):
        assert main([*words, "--json", "--scene", str(scene)]) == code
        clearance = json.loads(capsys.readouterr().out)["clearance"]
        assert clearance["status"] == ("collision" if code else "clear")
        assert ("ball" in clearance["pair"]) == bool(code)


def test_invalid_scenes_are_one_line_with_the_object(tmp_path, capsys):
    scene = tmp_path / "scene.yaml"
    for entry, reason in (("box: [1, 2]", "size of a box"), ("sphere: 1, link: a", "link must")):
        scene.write_text(f"objects: {{part: {{{entry}}}}}")
        words = ["plan", "ibm7535", "--start", "0.76,0.2618", "--goal", "0,0"]
        assert main([*words, "--scene", str(scene)]) == 2
        message = capsys.readouterr().err
        assert f"object 'part': {reason}" in message
        assert message.count("\n") == 1


def test_collision_models_require_no_masses(tmp_path, capsys):
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(
        '<robot name="arm"><link name="base"/><link name="ball"><collision><geometry>'
        '<sphere radius="0.1"/></geometry></collision></link><joint name="j" type="continuous">'
        '<parent link="base"/><child link="ball"/><axis xyz="0 0 1"/></joint></robot>'
    )
    assert main(["robots", str(urdf)]) == 2
    assert "has no mass" in capsys.readouterr().err
    assert main(["robots", str(urdf), "--collision"]) == 0
    assert re.search(r"ball +sphere", capsys.readouterr().out)


@pytest.mark.parametrize(
    "option", ["--collision", "--lock=S3=0", "--tip=hand", "--srdf=arm.srdf", "--xacro=a:=b"]
)
def test_options_of_robots_require_a_robot(option, capsys):
    assert main(["robots", option]) == 2
    assert f"{option.split('=')[0]} requires ROBOT" in capsys.readouterr().err


def test_robots_describes_the_collision_model(capsys):
    assert main(["robots", "ibm7535", "--collision"]) == 0
    text = capsys.readouterr().out
    assert re.search(r"base_link +link_2 +checked", text)
    assert re.search(r"link_1 +link_2 +adjacent", text)
