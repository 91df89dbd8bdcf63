"""The results of a sweep on disk: a folder of Parquet files, one for each chunk of cases.

A part is written whole or not at all, and its number is that of its chunk: a chunk that is done
twice is still one part. What the sweep is, a hash, stands in the metadata of every part.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.files import write_atomically
from manip_dyn.ensembles.sweeps.folder import LOCK, folder_of, locked
from manip_dyn.ensembles.sweeps.needed import needed
from manip_dyn.ensembles.sweeps.rows import Row

IDENTITY, CHUNK = b"manip_dyn.sweep", b"manip_dyn.chunk"
"""Keys of the metadata: the sweep's hash, and how many cases a part has."""
PURPOSE = "a sweep that is kept"


class Parts:
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
        self._arrow = needed("pyarrow", PURPOSE)
        self._parquet = needed("pyarrow.parquet", PURPOSE)
        self.folder, self.chunk = folder, chunk
        self._identity, self._columns = identity, columns
        if folder.exists() and not folder.is_dir():
            raise ManipDynError(f"'{folder}' is a file; expected a folder for the results")
        self._new = not folder.exists()
        self._lock = locked(folder)
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
    arrow, parquet = needed("pyarrow", PURPOSE), needed("pyarrow.parquet", PURPOSE)
    found = part_files(folder_of(folder))
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
