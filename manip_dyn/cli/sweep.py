"""`manip_dyn sweep`: a task over many cases, on cores or on a cluster."""

from __future__ import annotations

import argparse
from pathlib import Path

from manip_dyn.cli.options import DONE, FAILED, examples, print_content
from manip_dyn.cli.parser import completed_by
from manip_dyn.cli.terminal import Bar
from manip_dyn.core.interruptible import tidied
from manip_dyn.ensembles.sweeps import sweep
from manip_dyn.ensembles.sweeps.file import read_file, shipped_sweeps, sweep_file


def configure(command: argparse.ArgumentParser) -> None:
    """Add description and options to the command's parser."""
    command.description = (
        "Plan, simulate, track or execute the cases of a file, on all cores or on a Dask cluster. "
        "Results are Parquet files in a folder, written piece by piece; the same command goes on "
        "where it was interrupted. A case that fails is a row that says why."
    )
    command.epilog = examples(
        "manip_dyn sweep ibm7535_mass_error",
        "manip_dyn sweep my_sweep.yaml --out results --workers 4",
        "manip_dyn sweep my_sweep.yaml --scheduler tcp://192.168.0.10:8786",
    )
    file = command.add_argument("file", help="a YAML file, or a shipped sweep")
    completed_by(file, shipped_sweeps)
    command.add_argument("--out", help="folder of the results (default: NAME_sweep)")
    command.add_argument("--workers", type=int, help="processes here (default: one for each core)")
    command.add_argument(
        "--scheduler", metavar="ADDRESS", help="of a Dask cluster whose workers do it instead"
    )
    command.add_argument(
        "--chunk", type=int, help="cases sent and written together (default: by number)"
    )
    command.add_argument("--json", action="store_true", help="print one JSON object instead")
    command.set_defaults(run=_sweep)


def _sweep(options: argparse.Namespace) -> int:
    described = read_file(options.file)
    out = Path(options.out or f"{sweep_file(options.file).stem}_sweep")
    bar = None
    if not options.json:
        bar = Bar(f"{len(described.cases)} cases of the task '{described.task.name}'")
    try:
        with tidied():
            result = sweep(
                described.task,
                described.cases,
                out,
                workers=options.workers,
                scheduler=options.scheduler,
                chunk=options.chunk,
                progress=lambda done, all_: bar(done / all_) if bar else None,
            )
    finally:
        if bar:
            bar.close()
    content = {
        "reason": result.reason,
        "cases": len(result.rows),
        "done_before": result.repeated,
        "statuses": dict(sorted(result.statuses.items())),
        "folder": str(out),
    }
    failed = next((row for row in result.rows if not row["success"]), None)
    if failed is not None:
        content["first_failure"] = f"case {failed['case']}: {failed['reason']}"
    print_content(content, options.json)
    return DONE if any(row["success"] for row in result.rows) else FAILED
