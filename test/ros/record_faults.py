"""Run the fault matrix and keep what was seen: ``python test/ros/record_faults.py docs``.

The cases that the tests leave out, kills and suspensions of processes at each phase, run here too.
Names of cases after the folder run those alone.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import conftest  # noqa: F401  (real nodes, on this machine only)
import harness
from faults.matrix import CASES, SYSTEMS
from faults.page import written

TRIES = 3
"""How often a case is done at most: a machine that stands still amid one says nothing of nodes."""


def run(names=(), patience=60.0):
    """Return the outcomes of the cases with these names, or of all; and which failed."""
    harness.Ros.patience = patience
    outcomes, failures = [], []
    chosen = [case for case in CASES if case.name in names or not names]
    for name, kind in SYSTEMS.items():
        graph = None
        for case in (each for each in chosen if each.system == name):
            for tries in range(1, TRIES + 1):
                try:
                    graph = graph or kind().__enter__()
                    outcomes.append({**asdict(graph.outcome(case)), "tries": tries})
                    print(outcomes[-1], flush=True)
                    break
                except AssertionError as error:
                    print("FAILED", case.name, error, flush=True)
                    if graph is not None:
                        graph.__exit__()
                    graph = None
            else:
                failures.append(case.name)
        if graph is not None:
            graph.__exit__()
    return outcomes, failures


def keep(folder, outcomes):
    """Keep outcomes beside those of other cases, and write the page."""
    file, page = folder / "reliability.json", folder / "reliability.md"
    rows = json.loads(file.read_text()) if file.exists() else []
    known = {row["case"]: row for row in rows} | {each["case"]: each for each in outcomes}
    rows = [known[case.name] for case in CASES if case.name in known]
    file.write_text(json.dumps(rows, indent=1) + "\n")
    page.write_text(written(page.read_text(encoding="utf-8"), rows), encoding="utf-8")


if __name__ == "__main__":
    where, *names = sys.argv[1:]
    seen, failed = run(names)
    keep(Path(where), seen)
    sys.exit(f"{len(failed)} cases failed: {failed}" if failed else 0)
