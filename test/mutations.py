"""Changes of single numbers in the inputs of the studies.

``python test/mutations.py [COUNT [SEED]]`` changes COUNT random numbers, one at a time, in
copies of published values, settings, robots and code. It prints every change that the digests of
the stored runs do not detect.
"""

from __future__ import annotations

import ast
import io
import random
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import manip_dyn
from manip_dyn.studies import PAPERS, report

ROOT = Path(manip_dyn.__file__).parents[1]
RUNS = ROOT / "docs" / "studies"
NUMBER = re.compile(r"(?<![\w.])\d+\.?\d*(?:[eE][+-]?\d+)?(?![\w.])")


class Mutation(NamedTuple):
    """A changed number: name of the file, line, number, and content with the changed number."""

    name: str
    line: int
    number: str
    content: str


def stored_digests() -> dict[str, str]:
    """Return the digests of all stored runs by file name."""
    digests: dict[str, str] = {}
    for paper in PAPERS:
        digests |= report.read_record(RUNS / f"{paper}.json").inputs
    return digests


def numbers_in(name: str, text: str) -> Iterator[tuple[int, int, str]]:
    """Yield line, column and text of the numbers of a file, without comments and docstrings."""
    if name.endswith(".py"):
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.NUMBER:
                yield (*token.start, token.string)
        return
    if name.endswith(".urdf"):
        text = re.sub(r"<!--.*?-->", _blanked, text, flags=re.DOTALL)
    for line, content in enumerate(text.splitlines(), start=1):
        code = content.split("#")[0] if name.endswith(".yaml") else content
        if "<?xml" in code:
            continue
        quoted = [match.span() for match in re.finditer(r'"[^"]*"', code)]
        for match in NUMBER.finditer(code):
            inside = any(a < match.start() < b for a, b in quoted)
            if not inside or name.endswith(".urdf"):
                yield line, match.start(), match[0]


def _blanked(match: re.Match[str]) -> str:
    """Return a match with spaces instead of all characters but line ends."""
    return re.sub(r"[^\n]", " ", match[0])


def changed(number: str) -> str:
    """Return a different number: a percent more, or the next integer."""
    if re.fullmatch(r"\d+", number):
        return str(int(number) + 1)
    value = ast.literal_eval(number)  # the number may be complex or hexadecimal
    return repr(value * 1.01 if value else 0.01)


def mutations(count: int, seed: int) -> Iterator[Mutation]:
    """Yield random changes. Files are chosen with equal probability, then their numbers."""
    generator = random.Random(seed)
    names = sorted(stored_digests())
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in names}
    places = {name: list(numbers_in(name, texts[name])) for name in names}
    names = [name for name in names if places[name]]
    for _ in range(count):
        name = generator.choice(names)
        line, column, number = generator.choice(places[name])
        lines = texts[name].splitlines(keepends=True)
        row = lines[line - 1]
        lines[line - 1] = row[:column] + changed(number) + row[column + len(number) :]
        yield Mutation(name, line, number, "".join(lines))


def is_detected(mutation: Mutation, digests: dict[str, str]) -> bool:
    """Return whether the digest of the changed file differs from that of the stored runs."""
    return report.digest(mutation.name, mutation.content) != digests[mutation.name]


def main(count: int = 50, seed: int = 0) -> int:
    """Print the undetected changes and return their number."""
    digests, missed = stored_digests(), 0
    for mutation in mutations(count, seed):
        detected = is_detected(mutation, digests)
        missed += not detected
        word = "detected" if detected else "MISSED"
        print(f"{word}: {mutation.name}:{mutation.line}: {mutation.number}")
    print(f"{count - missed} of {count} changes detected")
    return missed


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
