"""Tables of node parameters for the documentation.

``python -m manip_dyn.ros.nodes.parameter_tables docs/node_parameters.md`` writes them into the
page between ``<!-- parameters -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from manip_dyn.core.files import with_section
from manip_dyn.ros.nodes.mechanism import MechanismParameters
from manip_dyn.ros.nodes.viewer import ViewerParameters
from manip_dyn.ros.parameters.bang_bang_planner import BangBangPlannerParameters
from manip_dyn.ros.parameters.clik_tracker import ClikTrackerParameters
from manip_dyn.ros.parameters.declaration import NumberOrWord, Row, rows
from manip_dyn.ros.parameters.simulator import SimulatorParameters

NODES: dict[str, Any] = {
    "simulator": SimulatorParameters,
    "clik_tracker": ClikTrackerParameters,
    "bang_bang_planner": BangBangPlannerParameters,
    "mechanism": MechanismParameters,
    "viewer": ViewerParameters,
}
COLUMNS = ("parameter", "default", "range", "unit", "dynamic", "description")
MAX_CHOICES = 8
"""Largest number of choices that the table lists. The description refers to a longer list."""


def with_parameters(page: str) -> str:
    """Return a Markdown page with updated parameter tables."""
    tables = [f"## {name}\n\n{_table(kind)}" for name, kind in NODES.items()]
    return with_section(page, "parameters", "\n".join(tables))


def _table(kind: Any) -> str:
    lines = [COLUMNS, ("---",) * len(COLUMNS), *map(_cells, rows(kind))]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _cells(row: Row) -> tuple[str, ...]:
    dynamic = "yes" if row.dynamic else ""
    return f"`{row.name}`", _default(row), _range(row), row.unit, dynamic, row.description


def _default(row: Row) -> str:
    if row.kind is bool:
        return "true" if row.default else "false"
    if isinstance(row.default, str):
        return f"`{row.default}`" if row.default else "empty"
    if row.per_joint is not None:
        return f"{row.per_joint} each"
    if row.default == ():
        return "not set"
    if isinstance(row.default, tuple):
        return str(list(row.default))
    return str(row.default)  # a float with its decimal point: ROS rejects an integer


def _range(row: Row) -> str:
    words = ", ".join(f"`{choice}`" for choice in row.choices)
    if row.choices and row.kind != NumberOrWord:
        return words if len(row.choices) <= MAX_CHOICES else ""
    if row.minimum is None or row.maximum is None:
        return ""
    return f"{row.minimum:g} to {row.maximum:g}" + (f", {words}" if words else "")


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(with_parameters(path.read_text(encoding="utf-8")), encoding="utf-8")
