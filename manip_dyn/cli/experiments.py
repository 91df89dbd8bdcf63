"""Commands that run many cases: `demo`, `sweep`, `study` and `bench`."""

from __future__ import annotations

import argparse
import inspect
import sys
from functools import partial
from pathlib import Path

from manip_dyn.cli.parser import (
    DONE,
    FAILED,
    add_json,
    add_topics,
    complete_with,
    examples,
    print_content,
    print_json,
)
from manip_dyn.cli.terminal import Bar, status_line
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.core.interruption import Terminated, sigterm_as_interrupt

ROBOT_SUITES = ("dynamics", "clik")
"""Benchmark suites that accept any robot; the other suites have fixed robots."""


def configure_demo(command: argparse.ArgumentParser) -> None:
    """Add the description and options of `manip_dyn demo`."""
    from manip_dyn.demo.scenarios import ANY_ROBOT, SCENARIOS

    names = [scenario.name for scenario in SCENARIOS]
    command.description = (
        "The command starts the nodes of a scenario, measures their topics in a separate process, "
        "and stops the nodes. The nodes communicate only on this machine. Exit code 0: all "
        "results are within their bounds; 1: otherwise. With --view, Ctrl-C ends the command with "
        "exit code 0."
    )
    command.epilog = examples(
        "manip_dyn demo",
        "manip_dyn demo --view",
        "manip_dyn demo pa10_dynamic_circle --mode real_time --record circle.mcap",
        "manip_dyn demo panda_lissajous --urdf my_arm.urdf",
    )
    summary = f"one of: {', '.join(names)} (default: three of them)"
    complete_with(command.add_argument("scenario", nargs="?", help=summary), lambda: names)
    command.add_argument("--all", action="store_true", help="perform all runs of all scenarios")
    command.add_argument("--mode", help="perform only the run with this label, such as lockstep")
    add_json(command)
    command.add_argument(
        "--view", action="store_true", help="show one run in the browser, until Ctrl-C"
    )
    command.add_argument("--urdf", help=f"another robot, for {ANY_ROBOT}")
    command.add_argument("--tip", help="tool link of the URDF (default: tool0, or the last link)")
    command.add_argument(
        "--record", metavar="FILE", help="write all messages to a new MCAP file, one per run"
    )
    command.add_argument(
        "--soak",
        type=float,
        metavar="SECONDS",
        help="run a tracked arm in real time for this duration",
    )
    command.add_argument("--log", metavar="FILE", help="write the samples of a soak as JSON")
    command.set_defaults(run=_demo)


def _demo(options: argparse.Namespace) -> int:
    if options.soak is not None:
        from manip_dyn.demo.runs import soak_command

        return soak_command(options.scenario, options.soak, options.json, options.log, Bar)
    if options.log is not None:
        raise ManipDynError(f"--log requires --soak, got --log '{options.log}' without it.")
    from manip_dyn.demo.runs import demo

    selection = options.scenario, options.mode, options.json, options.urdf, options.tip
    try:
        return demo(*selection, options.all, options.view, options.record, Bar)
    except KeyboardInterrupt as interrupt:
        if not options.view or isinstance(interrupt, Terminated):
            raise
        print(flush=True)  # as when Ctrl-C ends `manip_dyn view`
        return DONE


def configure_sweep(command: argparse.ArgumentParser) -> None:
    """Add the description and options of `manip_dyn sweep`."""
    from manip_dyn.ensembles.sweeps.sweep_file import shipped_sweeps

    command.description = (
        "A task plans, simulates, tracks or executes a motion. Results are Parquet files in a "
        "folder, one per chunk of cases. The same command resumes an interrupted sweep. A failed "
        "case yields a row with the reason."
    )
    command.epilog = examples(
        "manip_dyn sweep ibm7535_mass_error",
        "manip_dyn sweep my_sweep.yaml --out results --workers 4",
        "manip_dyn sweep my_sweep.yaml --scheduler tcp://192.168.0.10:8786",
    )
    complete_with(
        command.add_argument("file", help="a YAML file, or a shipped sweep"),
        shipped_sweeps,
        (".yaml", ".yml"),
    )
    command.add_argument("--out", help="folder of the results (default: NAME_sweep)")
    command.add_argument("--workers", type=int, help="local processes (default: one per core)")
    command.add_argument(
        "--scheduler", metavar="ADDRESS", help="run the cases on the Dask cluster at this address"
    )
    command.add_argument("--chunk", type=int, help="cases per file (default: automatic)")
    add_json(command)
    command.set_defaults(run=_sweep)


def _sweep(options: argparse.Namespace) -> int:
    from manip_dyn.ensembles.sweeps import sweep
    from manip_dyn.ensembles.sweeps.sweep_file import read_sweep_file, sweep_file

    plan = read_sweep_file(options.file)
    out = Path(options.out or f"{sweep_file(options.file).stem}_sweep")
    bar = None
    if not options.json:
        bar = Bar(f"{len(plan.cases)} cases of the task '{plan.task.name}'")
    try:
        with sigterm_as_interrupt():
            result = sweep(
                plan.task,
                plan.cases,
                out,
                workers=options.workers,
                scheduler=options.scheduler,
                chunk=options.chunk,
                progress=lambda done, total: bar(done / total) if bar else None,
            )
    finally:
        if bar:
            bar.close()
    successes = result.column("success").tolist()
    content = {
        "reason": result.reason,
        "cases": len(successes),
        "done_before": result.repeated,
        "statuses": dict(sorted(result.statuses.items())),
        "folder": str(out),
    }
    if not result.success:
        first = successes.index(False)
        content["first_failure"] = f"case {first}: {result.column('reason')[first]}"
    print_content(content, options.json)
    return DONE if any(successes) else FAILED


def configure_study(command: argparse.ArgumentParser) -> None:
    """Add the description and options of `manip_dyn study`."""
    from manip_dyn.studies import PAPERS, paper, study

    items = "; ".join(f"{name}: {', '.join(paper(name).ITEMS)}" for name in PAPERS)
    command.description = (
        "The command compares published with computed values and assesses the claims. Papers and "
        f"their items: {items}."
    )
    command.epilog = examples(
        "manip_dyn study all --out pages", "manip_dyn study fan2003 table6.4 --out figures"
    )
    names = (*PAPERS, "all")
    paper_argument = command.add_argument("paper", help=f"one of: {', '.join(names)}")
    complete_with(paper_argument, lambda: names)
    command.add_argument(
        "item", nargs="?", default="all", help="a figure or table, such as fig5.9 (default: all)"
    )
    add_json(command)
    command.add_argument("--out", metavar="DIR", help="write PNG, SVG, CSV and HTML files")
    command.add_argument("--keep", metavar="DIR", help="store the run as data for docs/studies.md")
    command.add_argument(
        "--check",
        metavar="DIR",
        help="compare with the stored runs in DIR; exit code 1 if they differ",
    )
    command.set_defaults(run=lambda o: study(o.paper, o.item, o.json, o.out, o.keep, o.check))


def configure_bench(command: argparse.ArgumentParser) -> None:
    """Add the description and options of `manip_dyn bench`."""
    from manip_dyn.bench import SUITES

    command.description = (
        "The installed peers (pip install 'manip_dyn[bench]') run in the same process, in "
        "interleaved rounds. The command prints medians and ratios. The suite 'cold' requires no "
        "peers: it times first results with an empty cache."
    )
    command.epilog = examples("manip_dyn bench", "manip_dyn bench clik --robot pa10 --json")
    add_topics(command, {name: partial(_suite_help, name) for name in SUITES})
    suite = command.add_argument(
        "suite",
        nargs="?",
        default="dynamics",
        help=f"one of: {', '.join(SUITES)} (default: dynamics); see manip_dyn bench SUITE --help",
    )
    complete_with(suite, lambda: SUITES)
    command.add_argument(
        "--robot",
        action="append",
        help="shipped robot or URDF; repeatable "
        "(default: pa10, and the Panda of example-robot-data)",
    )
    add_json(command)
    command.add_argument(
        "--keep",
        metavar="FOLDER",
        help="store the record as SUITE-COMMIT.json, for example in benchmarks/runs; requires a "
        "clean commit",
    )
    command.set_defaults(run=_bench)


def _suite_help(name: str) -> tuple[str, str]:
    """Return the help text and the examples of a benchmark suite."""
    from manip_dyn.bench.record import suite

    summary = inspect.cleandoc(suite(name).__doc__ or "").partition(": ")[2]
    lines = [f"manip_dyn bench {name}", f"manip_dyn bench {name} --json"]
    if name in ROBOT_SUITES:
        lines.append(f"manip_dyn bench {name} --robot my_arm.urdf")
    return summary[:1].upper() + summary[1:], examples(*lines)


def _bench(options: argparse.Namespace) -> int:
    from manip_dyn.bench import SUITES, bench
    from manip_dyn.bench.record import clean_commit, keep
    from manip_dyn.bench.timing import setting
    from manip_dyn.robot import load_robot

    name = options.suite
    if name not in SUITES:
        raise ManipDynError(
            f"suite must be a benchmark suite, got '{name}'{closest(name, SUITES)}"
        )
    if options.robot and name not in ROBOT_SUITES:
        raise ManipDynError(f"--robot must be omitted for suite '{name}', which has fixed robots.")
    if options.keep:  # checked before measurements that take minutes
        clean_commit(dict(setting(())))
        if options.robot:
            raise ManipDynError("--keep requires the default robots. Remove --robot.")
    robots = [load_robot(source) for source in options.robot or ()]
    with status_line(f"measuring {name}", writes=True):
        record = bench(name, robots) if robots else bench(name)
    if options.json:
        print_json(record.content())
    else:
        print(record)
    if options.keep:
        print(f"stored in {keep(record, Path(options.keep))}", file=sys.stderr)
    return DONE
