"""Sweeps on several processes: identical rows for any number of workers, even if some die."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import swept
from fresh import Fresh, output_of

import manip_dyn as md

pytest.importorskip("pyarrow", reason="stored sweeps need pip install '.[sweep]'")


def test_rows_are_bitwise_identical_for_any_number_of_workers(tmp_path):
    rows_of_one, rows_of_three = (
        md.sweep(swept.rotated, swept.cases(), tmp_path / str(count), workers=count, chunk=3).rows
        for count in (1, 3)
    )
    assert rows_of_one == rows_of_three


def test_no_case_is_lost_or_repeated_if_a_process_is_killed(tmp_path):
    marks = tmp_path / "marks"
    marks.mkdir()
    cases = md.Cases.grid(x=list(range(12)))
    result = md.sweep(
        swept.Marked(marks, die_once=[5]), cases, tmp_path / "out", workers=2, chunk=2
    )
    assert [row["case"] for row in result.rows] == list(range(12))
    assert list(result.column("twice")) == [2 * x for x in range(12)]
    assert swept.Marked.marks(marks)[5] == 2


def test_a_case_that_kills_every_process_fails_alone(tmp_path):
    cases = md.Cases.grid(x=list(range(6)))
    result = md.sweep(swept.Marked(tmp_path, die_always=[2]), cases, workers=2, chunk=3)
    assert [row["success"] for row in result.rows] == [x != 2 for x in range(6)]
    assert result.rows[2]["status"] == "lost"
    assert "died repeatedly on this case" in result.rows[2]["reason"]


HERE = """
import manip_dyn as md

def here(x):
    return dict()

{guard}
    try:
        md.sweep(here, md.Cases.grid(x=[1, 2, 3]), workers=2)
    except md.ManipDynError as error:
        print(error)
"""


def test_functions_that_other_processes_cannot_load_raise():
    output = output_of(HERE.format(guard="if True:"))
    assert output.count("\n") == 1
    assert "another process cannot load the function (AttributeError:" in output


def test_scripts_without_a_main_guard_raise(tmp_path):
    """Each process imports the script, which must not start the sweep again."""
    for guard, expected in (("if True:", "under if __name__"), ("if __name__ == '__main__':", "")):
        script = tmp_path / "script.py"
        script.write_text(HERE.format(guard=guard))
        ended = subprocess.run(
            [sys.executable, script], capture_output=True, text=True, check=True
        )
        assert expected in ended.stdout
        assert bool(ended.stdout) == bool(expected)


KILLED = """
import sys
import manip_dyn as md
import swept

marks, out = sys.argv[1:]
cases = md.Cases.grid(x=list(range(200)))
md.sweep(swept.Marked(marks, pause=0.3), cases, out, workers=2, chunk=2)
"""


def test_killed_sweeps_repeat_no_stored_chunk(tmp_path):
    marks, out = tmp_path / "marks", tmp_path / "out"
    marks.mkdir()
    path = os.pathsep.join([str(Path(swept.__file__).parent), os.environ.get("PYTHONPATH", "")])
    begun = Fresh(KILLED, marks, out, PYTHONPATH=path)
    end = time.monotonic() + 600.0
    while len(list(out.glob("part-*"))) < 5:
        assert begun.poll() is None
        assert time.monotonic() < end
        time.sleep(0.01)
    lists = Path(f"/proc/{begun.pid}/task").glob("*/children")
    workers = [pid for file in lists for pid in file.read_text().split()]
    assert len(workers) >= 2
    begun.kill()
    assert begun.wait().returncode == -signal.SIGKILL
    stored = {int(file.stem[5:]) for file in out.glob("part-*.parquet")}
    while any(_runs(pid) for pid in workers):
        assert time.monotonic() < end  # workers exit with their parent
        time.sleep(0.01)
    before = swept.Marked.marks(marks)
    result = md.sweep(swept.Marked(marks), md.Cases.grid(x=list(range(200))), out, workers=1)
    after = swept.Marked.marks(marks)
    assert 5 <= len(stored) < 100
    assert result.repeated == 2 * len(stored)
    for x in range(200):
        calls = after[x] - before.get(x, 0)
        assert calls == (0 if x // 2 in stored else 1)
    assert [row["case"] for row in result.rows] == list(range(200))


def _runs(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
