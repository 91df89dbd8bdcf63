"""Results of a sweep: rows in memory, and Parquet files on disk, one per chunk of cases.

A file is written completely or not at all. Its number is that of its chunk, so repeated chunks
yield one file. Its metadata contain a hash of the sweep. A lock allows one sweep per folder.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.core.files import write_atomically
from manip_dyn.core.imports import required_module
from manip_dyn.core.results import Result
from manip_dyn.ensembles.sweeps.workers import Row

try:
    import fcntl
except ImportError:  # not a Unix
    fcntl = None  # type: ignore[assignment]

LOCK = ".lock"


def checked_folder(given: str | Path) -> Path:
    """Return a path that is given for a folder."""
    if not isinstance(given, (str, Path)) or not str(given):
        raise ManipDynError(f"the folder of the results is {given!r}; expected a path")
    return Path(given)


def lock_folder(folder: Path) -> IO[bytes]:
    """Return a file that only this sweep holds; the system takes it from one that is killed."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        held = (folder / LOCK).open("wb")
    except OSError as error:
        raise ManipDynError(
            f"'{folder}' cannot be written: {error.strerror or error}; expected a folder that can"
        ) from error
    try:
        if fcntl:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        held.close()
        raise ManipDynError(
            f"a sweep that runs writes into '{folder}'; expected another folder, or its end"
        ) from error
    except OSError:  # a file system without locks
        return held
    if _is_there(held, folder / LOCK):
        return held
    held.close()
    return lock_folder(folder)  # one that ended without results took the file away


def _is_there(held: IO[bytes], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(held.fileno()), path.stat())
    except OSError:
        return False


IDENTITY, CHUNK = b"manip_dyn.sweep", b"manip_dyn.chunk"
"""Keys of the metadata: the sweep's hash, and how many cases a part has."""
PURPOSE = "storing a sweep requires"


class ResultParts:
    """The folder of a sweep.

    Attributes:
        folder: Where it is.
        chunk: How many cases a part has.
        done: Numbers of the parts that are there.
    """

    def __init__(self, folder: Path, identity: str, chunk: int, columns: Mapping[str, str]):
        """Find what is there; the size of chunks is that of parts that are there.

        Args:
            folder: Made at the first part.
            identity: The sweep's hash.
            chunk: How many cases a new sweep's part is to have.
            columns: Kinds of columns that are known, see `KINDS`.

        Raises:
            ManipDynError: If another sweep's results are there, one that runs writes there, or
                pyarrow is not installed.
        """
        self._arrow = required_module("pyarrow", PURPOSE, "sweep")
        self._parquet = required_module("pyarrow.parquet", PURPOSE, "sweep")
        self.folder, self.chunk = folder, chunk
        self._identity, self._columns = identity, columns
        if folder.exists() and not folder.is_dir():
            raise ManipDynError(f"'{folder}' is a file; expected a folder for the results")
        self._new = not folder.exists()
        self._lock = lock_folder(folder)
        try:
            self.done = self._found()
        except BaseException:
            self.close()
            raise

    def _found(self) -> set[int]:
        found = part_files(self.folder)
        for file in found.values():
            known = _metadata(self._parquet, file)
            if known.get(IDENTITY, b"").decode() != self._identity:
                raise ManipDynError(
                    f"'{self.folder}' has results of another sweep: other cases, another task or "
                    "another version; expected a new folder, or the file it was begun with"
                )
            self.chunk = int(known[CHUNK])
        for left in self.folder.glob(".*.tmp"):  # of a sweep that was killed while it wrote
            left.unlink(missing_ok=True)
        return set(found)

    def close(self) -> None:
        """Let others write into the folder; without results it goes, if it was made here."""
        if not part_files(self.folder):
            with contextlib.suppress(OSError):
                (self.folder / LOCK).unlink()
                if self._new:
                    self.folder.rmdir()
        self._lock.close()

    def write(self, number: int, rows: Sequence[Row]) -> None:
        """Write a part."""
        arrow = self._arrow
        names = list(dict.fromkeys([*self._columns, *(name for row in rows for name in row)]))
        ending = ["success", "status", "reason"]
        names = [name for name in names if name not in ending] + ending
        kinds = _kinds(arrow)
        columns = []
        for name in names:
            values = [row.get(name) for row in rows]
            try:
                columns.append(arrow.array(values, kinds.get(self._columns.get(name, ""))))
            except (arrow.ArrowInvalid, arrow.ArrowTypeError) as error:
                raise ManipDynError(
                    f"'{name}' cannot be kept: {str(error).splitlines()[0]}; expected numbers, "
                    "texts or lists of numbers, of one kind in all cases"
                ) from error
        about = {IDENTITY: self._identity.encode(), CHUNK: str(self.chunk).encode()}
        table = arrow.table(columns, names).replace_schema_metadata(about)
        stream = arrow.BufferOutputStream()
        self._parquet.write_table(table, stream)
        file = self.folder / f"part-{number:06d}.parquet"
        try:
            write_atomically(file, stream.getvalue().to_pybytes())
        except OSError as error:
            raise ManipDynError(
                f"'{file}' cannot be written: {error.strerror or error}; what is there is kept"
            ) from error
        self.done.add(number)


def read_rows(folder: str | Path) -> list[Row]:
    """Return the rows that a sweep has written so far, by case.

    Raises:
        ManipDynError: If there are none.
    """
    arrow, parquet = (
        required_module("pyarrow", PURPOSE, "sweep"),
        required_module("pyarrow.parquet", PURPOSE, "sweep"),
    )
    found = part_files(checked_folder(folder))
    if not found:
        raise ManipDynError(f"'{folder}' has no results of a sweep; expected part-*.parquet")
    try:
        tables = [parquet.ParquetFile(found[number]).read() for number in sorted(found)]
    except (OSError, arrow.ArrowInvalid) as error:
        raise ManipDynError(f"'{folder}' cannot be read: {error}") from error
    try:
        rows = arrow.concat_tables(tables, promote_options="permissive").to_pylist()
    except (arrow.ArrowInvalid, arrow.ArrowTypeError):  # a name of other kinds in other parts
        rows = [row for table in tables for row in table.to_pylist()]
        names = dict.fromkeys(name for row in rows for name in row)
        rows = [{name: row.get(name) for name in names} for row in rows]
    return sorted(rows, key=lambda row: row["case"])


def part_files(folder: Path) -> dict[int, Path]:
    """Return the parts that are there, by number."""
    found = {}
    for file in folder.glob("part-*.parquet"):
        with contextlib.suppress(ValueError):
            found[int(file.stem.removeprefix("part-"))] = file
    return found


def _metadata(parquet: Any, file: Path) -> Mapping[bytes, bytes]:
    try:
        return parquet.read_schema(file).metadata or {}
    except Exception as error:  # pyarrow has several
        raise ManipDynError(f"'{file}' is no part of a sweep: {error}") from error


def _kinds(arrow: Any) -> dict[str, Any]:
    """Return arrow's types of the kinds of columns."""
    return {
        "whole": arrow.int64(),
        "number": arrow.float64(),
        "yes": arrow.bool_(),
        "text": arrow.string(),
        "numbers": arrow.list_(arrow.float64()),
    }


@dataclass(frozen=True, eq=False, repr=False)
class SweepResult(Result):
    """The rows of a sweep, by case.

    Attributes:
        rows: For each case its number, its values, the results, ``success``, ``status`` and
            ``reason``.
        folder: Where they are kept; None if they are not.
        repeated: How many cases were done before, by a sweep that this one resumed.
    """

    rows: list[Row] = field(repr=False)
    folder: Path | None = None
    repeated: int = 0

    @property
    def success(self) -> bool:
        """Whether every case is a success."""
        return all(row["success"] for row in self.rows)

    @property
    def status(self) -> str:
        """``solved`` if every case is a success, else ``partly``."""
        return "solved" if self.success else "partly"

    @property
    def reason(self) -> str:  # type: ignore[override]
        """The same in one sentence."""
        count = sum(row["success"] for row in self.rows)
        return f"{count} of {len(self.rows)} cases succeeded"

    @property
    def statuses(self) -> Counter[str]:
        """How many cases have each status."""
        return Counter(row["status"] for row in self.rows)

    def column(self, name: str) -> np.ndarray:
        """Return a column, (cases,), or (cases, k) for vectors; NaN where a number is missing."""
        known = list(dict.fromkeys(each for row in self.rows for each in row))
        if name not in known:
            raise ManipDynError(f"the sweep has no column '{name}'{closest(name, known)}")
        values: list[Any] = [row.get(name) for row in self.rows]
        kept = [value for value in values if value is not None]
        if kept and isinstance(kept[0], list):
            none = [np.nan] * len(kept[0])
            return np.array([none if value is None else value for value in values])
        if kept and not isinstance(kept[0], str) and len(kept) < len(values):
            return np.array([np.nan if value is None else value for value in values], float)
        return np.array(values)


def read_sweep(folder: str | Path) -> SweepResult:
    """Return what a sweep has written so far.

    Args:
        folder: Its parts, ``part-*.parquet``.

    Raises:
        ManipDynError: If there are none, or pyarrow is not installed.
    """
    return SweepResult(read_rows(folder), Path(folder))
