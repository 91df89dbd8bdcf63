"""The catalogue of minimum-time motions: what it has of a small grid, and as which files."""

import csv
import json
from itertools import islice

import pytest

from manip_dyn.bench.minimum_time_catalogue import Entry, grid, tables, write

OTHER = str.maketrans("+-", "-+")


@pytest.fixture(scope="module")
def cells():
    return list(grid(2))


def test_mirrored_goals_have_the_same_times_and_the_other_signs(cells):
    assert [each.goal for each in cells] == [[-2.0, -2.0], [-2.0, 2.0], [2.0, -2.0], [2.0, 2.0]]
    for one, other in zip(cells, reversed(cells), strict=True):
        assert one.status == "solved"
        assert one.t_final == pytest.approx(other.t_final, rel=1e-9)
        assert one.structure == other.structure.translate(OTHER)
        changes = one.structure.split()[1:]
        assert len(changes) == sum(len(times) for times in one.switch_times)


def test_it_is_written_as_data_and_a_picture(cells, tmp_path):
    pytest.importorskip("matplotlib")
    none = Entry("x", "ibm7535", [0.0] * 2, [9.0] * 2, "none", float("nan"), "", [], [], {}, "far")
    found = list(islice(tables(), 1))
    files = write(tmp_path, found, [*cells[:3], none], "motions")
    content = json.loads(files[0].read_text(encoding="utf-8"))
    assert content["setting"]["commit"]
    assert content["tables"][0]["t_final"] == pytest.approx(2.0)
    assert content["tables"][0]["structure"] == "- 1+"
    assert content["grid"][3]["t_final"] is None
    rows = list(csv.DictReader(files[1].read_text(encoding="utf-8").splitlines()))
    assert float(rows[0]["t_final_s"]) == pytest.approx(cells[0].t_final)
    assert files[2].read_bytes().startswith(b"\x89PNG")
