"""Run the fault matrix and keep what was seen: ``python test/ros/record_faults.py docs``.

The cases that the tests leave out, kills and suspensions of processes at each phase, run here too.
Names of cases after the folder run those alone and keep nothing.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

import conftest  # noqa: F401  (real nodes, on this machine only)
import harness
from faults.matrix import CASES, SYSTEMS
from faults.page import written


def run(names=(), patience=20.0):
    """Return the outcomes of the cases with these names, or of all; and the failures."""
    harness.Ros.until.__defaults__ = (patience,)
    outcomes, failures = [], []
    chosen = [case for case in CASES if case.name in names or not names]
    for name, kind in SYSTEMS.items():
        graph = None
        for case in (each for each in chosen if each.system == name):
            try:
                graph = graph or kind().__enter__()
                outcomes.append(graph.outcome(case))
                print(outcomes[-1], flush=True)
            except AssertionError as error:
                failures.append((case.name, str(error)))
                print("FAILED", *failures[-1], flush=True)
                if graph is not None:
                    graph.__exit__()
                graph = None
        if graph is not None:
            graph.__exit__()
    order = [case.name for case in CASES]
    return sorted(outcomes, key=lambda each: order.index(each.case)), failures


if __name__ == "__main__":
    began = os.times()
    folder, *names = sys.argv[1:]
    outcomes, failures = run(names)
    print("CPU", os.times().user + os.times().system - began.user - began.system)
    if not names and not failures:
        rows = [asdict(each) for each in outcomes]
        Path(folder, "reliability.json").write_text(json.dumps(rows, indent=1) + "\n")
        page = Path(folder, "reliability.md")
        page.write_text(written(page.read_text(encoding="utf-8"), rows), encoding="utf-8")
    sys.exit(f"{len(failures)} cases failed: {failures}" if failures else 0)
