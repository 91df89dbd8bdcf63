"""A log as a CSV file, with the columns that `manip_dyn simulate --csv` writes."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.robot import Robot


def from_csv(file: Path, robot: Robot) -> tuple[Vector, Matrix, Matrix]:
    """Return times (m,), positions (m, n) and efforts (m, n) of a file.

    They are its columns ``t``, ``position_JOINT`` and ``effort_JOINT``; others are left out.

    Raises:
        ManipDynError: If the file cannot be read, a column is missing, or an entry is no number.
    """
    try:
        with open(file, encoding="utf-8", newline="") as opened:
            head, *rows = list(csv.reader(opened)) or [[]]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ManipDynError(f"log '{file}' cannot be read: {reason}") from error
    wanted = ["t", *(f"{part}_{j}" for part in ("position", "effort") for j in robot.joint_names)]
    for name in wanted:
        if name not in head:
            raise ManipDynError(f"log '{file}' has no column '{name}'{closest(name, head)}")
    places = [head.index(name) for name in wanted]
    numbers = []
    for line, row in enumerate(rows, 2):
        if not row:
            continue
        try:
            numbers.append([float(row[k]) for k in places])
        except (ValueError, IndexError) as error:
            raise ManipDynError(
                f"log '{file}', line {line}: {error}; expected a number in each column"
            ) from error
    table = np.array(numbers).reshape(len(numbers), len(wanted))
    return table[:, 0], table[:, 1 : 1 + robot.n], table[:, 1 + robot.n :]
