"""What studies write for other programs: plain values for JSON, CSV files."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """Return nested values with lists for tuples and arrays, and None for what is not finite."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_csv(path: Path, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> Path:
    """Write a table and return its path."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(head)
        writer.writerows(rows)
    return path
