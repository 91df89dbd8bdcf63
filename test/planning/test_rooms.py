"""How planning is built: no cycles, no long chains of imports, nothing private across files."""

from functools import cache
from itertools import pairwise
from pathlib import Path

import layout
import pytest

from manip_dyn import planning

MODULES = layout.modules(Path(planning.__file__).parent, planning.__name__)
FLOORS = 8
"""Most modules of planning that import each other in a row, from room to room."""


def below(name):
    """Return the modules of planning that a module imports from, wherever in the file."""
    return {each.module for each in layout.imports(MODULES[name]) if each.module in MODULES}


def chains(below):
    """Return module -> the longest chain of imports that begins with it."""
    open_ones = []

    @cache
    def chain(name):
        assert name not in open_ones, f"{name} imports itself by way of {open_ones}"
        open_ones.append(name)
        longest = max((chain(each) for each in below(name)), key=len, default=())
        open_ones.pop()
        return (name, *longest)

    return {name: chain(name) for name in MODULES}


def test_chains_of_imports_are_short():
    long = {name: chain for name, chain in chains(below).items() if len(chain) > FLOORS}
    assert long == {}


def test_a_cycle_and_a_chain_that_is_too_long_are_seen():
    first, last, *between = MODULES
    planted = {first: {last}, last: set(between[:1])} | {
        one: {other} for one, other in pairwise(between[:FLOORS])
    }
    longest = chains(lambda name: planted.get(name, set()))[first]
    assert len(longest) == FLOORS + 2
    planted[last] = {first}
    with pytest.raises(AssertionError, match="imports itself"):
        chains(lambda name: planted.get(name, set()))


def test_nothing_private_is_imported():
    assert layout.private(MODULES) == []
