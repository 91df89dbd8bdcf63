"""Results of a sweep: rows in memory, and Parquet files on disk, one per chunk of cases.

A file is written completely or not at all. Its name contains the number of its chunk, so a
repeated chunk replaces its file. Its metadata contain a hash of the sweep. A lock allows one sweep
per folder.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np

from manip_dyn.core.atomic_files import write_atomically
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.core.imports import required_module
from manip_dyn.core.results import Result
from manip_dyn.ensembles.sweeps.workers import Row

try:
    import fcntl
except ImportError:  # not a Unix system
    fcntl = None  # type: ignore[assignment]

LOCK = ".lock"


def checked_folder(folder: str | Path | None) -> Path:
    """Return the folder of the results as a path after checking it."""
    if not isinstance(folder, (str, Path)) or not str(folder):
        raise ManipDynError(f"the folder of results must be a path, got {folder!r}.")
    return Path(folder)


def lock_folder(folder: Path) -> IO[bytes]:
    """Create and lock a folder for this sweep; return the lock file, which must be closed.

    The system releases the lock if the process is killed. Without support for locks, the folder is
    not protected.

    Raises:
        ManipDynError: If the folder cannot be written, or another sweep has locked it.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        held = (folder / LOCK).open("wb")
    except OSError as error:
        raise ManipDynError(f"cannot write to '{folder}': {error.strerror or error}.") from error
    try:
        if fcntl:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        held.close()
        raise ManipDynError(
            f"another sweep is writing to '{folder}'; wait for its end, or use another folder."
        ) from error
    except OSError:  # a file system without locks
        return held
    if _is_there(held, folder / LOCK):
        return held
    held.close()
    return lock_folder(folder)  # a sweep without results has deleted the file


def _is_there(held: IO[bytes], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(held.fileno()), path.stat())
    except OSError:
        return False


IDENTITY, CHUNK = b"manip_dyn.sweep", b"manip_dyn.chunk"
"""Metadata keys of the hash of the sweep and the number of cases per file."""
PURPOSE = "storing a sweep requires"


class ResultParts:
    """Folder with the results of a sweep.

    Attributes:
        folder: Path of the folder.
        chunk: Number of cases per file.
        done: Numbers of the existing files.
    """

    def __init__(self, folder: Path, identity: str, chunk: int, columns: Mapping[str, str]):
        """Lock the folder and read existing files, which determine the chunk size.

        Args:
            folder: Path of the folder, which is created if it does not exist.
            identity: Hash of the sweep.
            chunk: Number of cases per file of a new sweep.
            columns: Predefined kinds of columns by name.

        Raises:
            ManipDynError: If the folder cannot be written, has results of another sweep, another
                sweep is writing to it, or pyarrow is not installed.
        """
        self._arrow = required_module("pyarrow", PURPOSE, "sweep")
        self._parquet = required_module("pyarrow.parquet", PURPOSE, "sweep")
        self.folder, self.chunk = folder, chunk
        self._identity, self._columns = identity, columns
        if folder.exists() and not folder.is_dir():
            raise ManipDynError(
                f"the folder of results must be a folder, got the file '{folder}'."
            )
        self._new = not folder.exists()
        self._lock = lock_folder(folder)
        try:
            self.done = self._read_existing()
        except BaseException:
            self.close()
            raise

    def _read_existing(self) -> set[int]:
        files = part_files(self.folder)
        for file in files.values():
            metadata = _metadata(self._parquet, file)
            if metadata.get(IDENTITY, b"").decode() != self._identity:
                raise ManipDynError(
                    f"'{self.folder}' has results of another sweep: other cases, another task or "
                    "another version. Use a new folder, or the original sweep file."
                )
            self.chunk = int(metadata[CHUNK])
        for left in self.folder.glob(".*.tmp"):  # left by a killed sweep
            left.unlink(missing_ok=True)
        return set(files)

    def close(self) -> None:
        """Release the folder, and delete it if it is new and contains no results."""
        if not part_files(self.folder):
            with contextlib.suppress(OSError):
                (self.folder / LOCK).unlink()
                if self._new:
                    self.folder.rmdir()
        self._lock.close()

    def write(self, number: int, rows: Sequence[Row]) -> None:
        """Write the rows of chunk `number` to its file.

        Raises:
            ManipDynError: If a column contains values of different kinds, or the file cannot be
                written.
        """
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
                    f"'{name}' must be numbers, strings or lists of numbers, of one kind in all "
                    f"cases: {str(error).splitlines()[0]}."
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
                f"cannot write '{file}': {error.strerror or error}. Existing results remain."
            ) from error
        self.done.add(number)


def read_rows(folder: str | Path | None) -> list[Row]:
    """Return all rows that have been written to a folder, sorted by case.

    Raises:
        ManipDynError: If there are no files, a file cannot be read, or pyarrow is not installed.
    """
    arrow, tables = required_module("pyarrow", PURPOSE, "sweep"), _tables(folder)
    try:
        rows = arrow.concat_tables(tables, promote_options="permissive").to_pylist()
    except (arrow.ArrowInvalid, arrow.ArrowTypeError):  # kinds of a column differ between files
        rows = [row for table in tables for row in table.to_pylist()]
        names = dict.fromkeys(name for row in rows for name in row)
        rows = [{name: row.get(name) for name in names} for row in rows]
    return sorted(rows, key=lambda row: row["case"])


def read_column(folder: str | Path | None, name: str) -> Iterator[Any]:
    """Yield the values of a column in all files, in the order of the cases, None if missing.

    Raises:
        ManipDynError: If no file has this column, and as for `read_rows`.
    """
    tables = _tables(folder, name)
    if not any(table.num_columns for table in tables):
        names = dict.fromkeys(name for table in _tables(folder) for name in table.column_names)
        raise ManipDynError(_unknown_column(name, list(names)))
    for table in tables:
        yield from table[name].to_pylist() if table.num_columns else [None] * table.num_rows


def _tables(folder: str | Path | None, name: str | None = None) -> list[Any]:
    """Return the tables of the files, or tables of one column, in the order of the cases."""
    arrow, parquet = (
        required_module("pyarrow", PURPOSE, "sweep"),
        required_module("pyarrow.parquet", PURPOSE, "sweep"),
    )
    files = part_files(checked_folder(folder))
    if not files:
        raise ManipDynError(
            f"'{folder}' must contain results of a sweep (part-*.parquet), got none."
        )
    columns = None if name is None else [name]
    try:
        return [parquet.ParquetFile(files[number]).read(columns) for number in sorted(files)]
    except (OSError, arrow.ArrowInvalid) as error:
        raise ManipDynError(f"cannot read '{folder}': {error}.") from error


def _unknown_column(name: str, names: list[str]) -> str:
    return f"name must be a column of the sweep, got '{name}'{closest(name, names)}"


def part_files(folder: Path) -> dict[int, Path]:
    """Return the existing result files by number of their chunk."""
    files = {}
    for file in folder.glob("part-*.parquet"):
        with contextlib.suppress(ValueError):
            files[int(file.stem.removeprefix("part-"))] = file
    return files


def _metadata(parquet: Any, file: Path) -> Mapping[bytes, bytes]:
    try:
        return parquet.read_schema(file).metadata or {}
    except Exception as error:  # pyarrow raises several types
        raise ManipDynError(f"'{file}' is not a result file of a sweep: {error}.") from error


def _kinds(arrow: Any) -> dict[str, Any]:
    """Return Arrow types by kind of column."""
    return {
        "whole": arrow.int64(),
        "number": arrow.float64(),
        "yes": arrow.bool_(),
        "text": arrow.string(),
        "numbers": arrow.list_(arrow.float64()),
    }


class SweepResult(Result):
    """Results of a sweep, sorted by case.

    Attributes:
        folder: Folder of the stored results, or None.
        repeated: Number of cases that were finished before this call.
        statuses: Number of cases with each status.
    """

    def __init__(
        self, rows: list[Row] | None = None, folder: Path | None = None, repeated: int = 0
    ):
        """Count the outcomes of the rows, or of those in a folder, which are read on first use.

        Raises:
            ManipDynError: If there are neither rows nor stored results, a file cannot be read, or
                pyarrow is not installed.
        """
        self.folder, self.repeated = folder, repeated
        if rows is not None:
            self.rows = rows
        self._successes = sum(map(bool, self._values("success")))
        self.statuses = Counter[str](self._values("status"))

    @cached_property
    def rows(self) -> list[Row]:
        """Number, values, results, ``success``, ``status`` and ``reason`` of each case.

        Stored rows are read on first use and require about 1 kB each; `column` reads one column.
        """
        return read_rows(self.folder)

    @property
    def success(self) -> bool:
        """Whether every case succeeded."""
        return self._successes == self.statuses.total()

    @property
    def status(self) -> str:
        """``solved`` if every case succeeded, else ``partly``."""
        return "solved" if self.success else "partly"

    @property
    def reason(self) -> str:  # type: ignore[override]
        """Phrase that states the number of successful cases."""
        return f"{self._successes} of {self.statuses.total()} cases succeeded"

    def _values(self, name: str) -> Iterator[Any]:
        if "rows" not in vars(self):
            return read_column(self.folder, name)
        names = list(dict.fromkeys(key for row in self.rows for key in row))
        if name not in names:
            raise ManipDynError(_unknown_column(name, names))
        return (row.get(name) for row in self.rows)

    def column(self, name: str) -> np.ndarray:
        """Return a column (cases,), or (cases, k) for lists; missing numbers are NaN.

        Raises:
            ManipDynError: If there is no such column, or a stored file cannot be read.
        """
        values = list(self._values(name))
        present = [value for value in values if value is not None]
        if present and isinstance(present[0], list):
            missing = [np.nan] * len(present[0])
            return np.array([missing if value is None else value for value in values])
        if present and not isinstance(present[0], str) and len(present) < len(values):
            return np.array([np.nan if value is None else value for value in values], float)
        return np.array(values)


def read_sweep(folder: str | Path) -> SweepResult:
    """Return the results that a sweep has written to a folder, even while it is running.

    Args:
        folder: Folder with ``part-*.parquet``.

    Raises:
        ManipDynError: If there are no results, a file cannot be read, or pyarrow is not installed.
    """
    return SweepResult(folder=checked_folder(folder))
