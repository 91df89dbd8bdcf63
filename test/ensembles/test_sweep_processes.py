"""Sweeps on several processes: the same rows on any number of them, and whoever dies."""

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

pytest.importorskip("pyarrow", reason="kept sweeps need pip install '.[sweep]'")


def test_rows_are_the_same_bit_for_bit_on_any_number_of_workers(tmp_path):
    one, three = (
        md.sweep(swept.rotated, swept.cases(), tmp_path / str(count), workers=count, chunk=3).rows
        for count in (1, 3)
    )
    assert one == three  # floats are equal only with every bit


def test_no_case_is_lost_or_done_twice_where_a_process_is_killed(tmp_path):
    marks = tmp_path / "marks"
    marks.mkdir()
    cases = md.Cases.grid(x=list(range(12)))
    result = md.sweep(
        swept.Marked(marks, die_once=[5]), cases, tmp_path / "out", workers=2, chunk=2
    )
    assert [row["case"] for row in result.rows] == list(range(12))
    assert list(result.column("twice")) == [2 * x for x in range(12)]
    assert swept.Marked.marks(marks)[5] == 2


def test_a_case_that_kills_every_process_is_a_row_and_costs_no_other(tmp_path):
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


def test_a_function_that_no_other_process_can_load_is_told():
    said = output_of(HERE.format(guard="if True:"))
    assert said.count("\n") == 1
    assert "another process cannot load the function (AttributeError:" in said


def test_a_script_that_would_start_its_sweep_again_is_told(tmp_path):
    """Each process imports the script; it is not to begin there once more."""
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


def test_a_sweep_that_was_killed_repeats_no_part_that_is_there(tmp_path):
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
    there = {int(file.stem[5:]) for file in out.glob("part-*.parquet")}
    while any(_runs(pid) for pid in workers):
        assert time.monotonic() < end  # they end with the process that they work for
        time.sleep(0.01)
    before = swept.Marked.marks(marks)
    result = md.sweep(swept.Marked(marks), md.Cases.grid(x=list(range(200))), out, workers=1)
    after = swept.Marked.marks(marks)
    assert 5 <= len(there) < 100
    assert result.repeated == 2 * len(there)
    for x in range(200):
        again = after[x] - before.get(x, 0)
        assert again == (0 if x // 2 in there else 1)
    assert [row["case"] for row in result.rows] == list(range(200))


def _runs(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
