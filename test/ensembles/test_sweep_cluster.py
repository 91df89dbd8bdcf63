"""Sweeps on a Dask cluster with worker processes."""

import os
import signal
import threading
import time
from importlib.util import find_spec
from pathlib import Path

import pytest
import swept
from fresh import Fresh

import manip_dyn as md
from manip_dyn.cli import main

pytest.importorskip("pyarrow", reason="stored sweeps need pip install '.[sweep]'")
pytestmark = pytest.mark.skipif(
    find_spec("distributed") is None, reason="clusters need pip install '.[sweep]'"
)


@pytest.fixture(scope="module")
def cluster():
    import distributed  # loads slowly

    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
    ) as local_cluster:
        yield local_cluster


def test_rows_equal_those_of_one_process(cluster, tmp_path):
    address = cluster.scheduler_address
    remote = md.sweep(swept.rotated, swept.cases(), tmp_path, scheduler=address, chunk=3)
    local = md.sweep(swept.rotated, swept.cases(), tmp_path / "here", workers=1, chunk=3)
    assert remote.rows == local.rows


def test_the_workers_share_the_cases_of_a_chunk(cluster, tmp_path):
    marks = tmp_path / "marks"
    marks.mkdir()
    cases, function = md.Cases.grid(x=list(range(24))), swept.Marked(marks, pause=0.05)
    md.sweep(function, cases, tmp_path / "out", scheduler=cluster.scheduler_address, chunk=24)
    assert len({mark.name.split("-")[1] for mark in marks.iterdir()}) == 2
    assert len(list((tmp_path / "out").glob("part-*.parquet"))) == 1


def test_few_tasks_are_submitted_at_the_same_time(cluster):
    counts = []
    md.sweep(
        swept.rotated,
        md.Cases.grid(x=[0.5], angle=[0.01 * i for i in range(200)]),
        scheduler=cluster.scheduler_address,
        chunk=1,
        progress=lambda *_: counts.append(len(cluster.scheduler.tasks)),
    )
    assert len(counts) == 201
    assert max(counts) < 50


def test_no_case_is_lost_or_repeated_if_a_worker_is_killed(cluster, tmp_path):
    marks, out, killed = tmp_path / "marks", tmp_path / "out", []
    marks.mkdir()

    def kill():
        """Kill the process that is solving a case."""
        while not killed:
            for mark in marks.glob("7-*"):
                killed.append(int(mark.name.split("-")[1]))
                os.kill(killed[0], signal.SIGKILL)
            time.sleep(0.005)

    watch = threading.Thread(target=kill, daemon=True)
    watch.start()
    cases = md.Cases.grid(x=list(range(24)))
    function, address = swept.Marked(marks, pause=0.2), cluster.scheduler_address
    result = md.sweep(function, cases, out, scheduler=address, chunk=2)
    watch.join()
    assert [row["case"] for row in result.rows] == list(range(24))
    assert list(result.column("twice")) == [2 * x for x in range(24)]
    assert len(list(out.glob("part-*.parquet"))) == 12
    assert len({mark.name.split("-")[1] for mark in marks.glob("7-*")}) == 2
    end = time.monotonic() + 600.0
    while Path(f"/proc/{killed[0]}").exists():  # until the cluster has reaped the process
        assert time.monotonic() < end
        time.sleep(0.01)


KILLED = """
import sys
import manip_dyn as md
import swept

marks, out, address = sys.argv[1:]
cases = md.Cases.grid(x=list(range(40)))
md.sweep(swept.Marked(marks, pause=1.0), cases, out, scheduler=address, chunk=2)
"""


def test_killed_sweeps_resume_on_the_same_scheduler(cluster, tmp_path):
    """The lock is released, and tasks that the scheduler still holds do not interfere."""
    marks, out, address = tmp_path / "marks", tmp_path / "out", cluster.scheduler_address
    marks.mkdir()
    path = os.pathsep.join([str(Path(swept.__file__).parent), os.environ.get("PYTHONPATH", "")])
    begun = Fresh(KILLED, marks, out, address, PYTHONPATH=path)
    end = time.monotonic() + 600.0
    while len(list(out.glob("part-*"))) < 3:
        assert begun.poll() is None
        assert time.monotonic() < end
        time.sleep(0.01)
    cases, function = md.Cases.grid(x=list(range(40))), swept.Marked(marks)
    with pytest.raises(md.ManipDynError, match="another sweep is writing to"):
        md.sweep(function, cases, out, scheduler=address, chunk=2)
    begun.kill()
    assert begun.wait().returncode == -signal.SIGKILL
    stored = {int(file.stem[5:]) for file in out.glob("part-*.parquet")}
    assert (out / ".lock").exists()
    before = swept.Marked.marks(marks)
    result = md.sweep(function, cases, out, scheduler=address, chunk=2)
    after = swept.Marked.marks(marks)
    assert 3 <= len(stored) < 20
    assert result.repeated == 2 * len(stored)
    assert all(after[x] == before[x] for x in range(40) if x // 2 in stored)
    assert list(result.column("twice")) == [2 * x for x in range(40)]


def test_unreachable_schedulers_are_reported_in_one_line(tmp_path, capsys):
    file = tmp_path / "file.yaml"
    file.write_text("{task: simulate, robot: rr, cases: {grid: {duration: [0.1]}}}")
    out = str(tmp_path / "out")
    for address in ("tcp://127.0.0.1:1", "nonsense"):
        assert main(["sweep", str(file), "--scheduler", address, "--out", out, "--json"]) == 2
        output = capsys.readouterr().err
        assert output.count("\n") == 1
        assert f"got '{address}'" in output
