"""Run the fault matrix and store its outcomes: ``python test/ros/record_faults.py docs``.

This includes the cases that the tests omit: killed and suspended processes at each phase.
Each case runs three times, and the worst values are stored. Names after the folder select cases.
Cases with action goals require the package control_msgs.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # the helpers of all tests

import conftest  # noqa: F401  (real nodes, on this machine only)
import harness
from faults.matrix import CASES, SYSTEMS
from faults.page import updated_page

RUNS, TRIES = 3, 3
"""Runs per case, and attempts per run: a suspension of the machine must not fail the nodes."""
WORST = ("beyond", "speed", "rise", "tries")
"""Columns of which the largest value of all runs is stored."""


def run(names=(), timeout=60.0):
    """Return the outcomes of the named cases (default: all) and the names of failed ones."""
    harness.Ros.timeout = timeout
    outcomes, failures = [], []
    chosen = [case for case in CASES if case.name in names or not names]
    for name, kind in SYSTEMS.items():
        graph = None
        for case in (item for item in chosen if item.system == name):
            runs: list[dict] = []
            tries = 1
            while len(runs) < RUNS and tries <= TRIES:
                try:
                    graph = graph or kind().__enter__()
                    runs.append({**asdict(graph.outcome(case)), "tries": tries})
                    print(runs[-1], flush=True)
                    tries = 1
                except (AssertionError, ImportError) as error:
                    print("FAILED", case.name, error, flush=True)
                    if graph is not None:
                        graph.__exit__()
                    graph, tries = None, tries + 1
            if len(runs) < RUNS:
                failures.append(case.name)
            else:
                worst = {key: max(run[key] for run in runs) for key in WORST}
                outcomes.append({**runs[-1], **worst, "runs": RUNS})
        if graph is not None:
            graph.__exit__()
    return outcomes, failures


def store(folder, outcomes):
    """Merge outcomes into the stored ones and write the page."""
    file, page = folder / "reliability.json", folder / "fault_cases.md"
    rows = json.loads(file.read_text()) if file.exists() else []
    by_name = {row["case"]: row for row in rows} | {row["case"]: row for row in outcomes}
    rows = [by_name[case.name] for case in CASES if case.name in by_name]
    file.write_text(json.dumps(rows, indent=1) + "\n")
    page.write_text(updated_page(page.read_text(encoding="utf-8"), rows), encoding="utf-8")


if __name__ == "__main__":
    folder, *names = sys.argv[1:]
    outcomes, failed = run(names)
    store(Path(folder), outcomes)
    sys.exit(f"{len(failed)} cases failed: {failed}" if failed else 0)
