"""The catalogue of minimum-time motions: its entries for a small grid, and its files."""

import csv
import json
from itertools import islice

import pytest

from manip_dyn.bench import minimum_time_catalogue as catalogue

MIRRORED = str.maketrans("+-", "-+")


@pytest.fixture(scope="module")
def cells():
    return list(catalogue.grid(2))


def test_mirrored_goals_have_equal_durations_and_opposite_signs(cells):
    assert [cell.goal for cell in cells] == [[-2.0, -2.0], [-2.0, 2.0], [2.0, -2.0], [2.0, 2.0]]
    for cell, mirrored in zip(cells, reversed(cells), strict=True):
        assert cell.status == "solved"
        assert cell.t_final == pytest.approx(mirrored.t_final, rel=1e-9)
        assert cell.structure == mirrored.structure.translate(MIRRORED)
        changes = cell.structure.split()[1:]
        assert len(changes) == sum(len(times) for times in cell.switch_times)


def test_the_catalogue_is_written_as_json_csv_and_a_picture(cells, tmp_path):
    pytest.importorskip("matplotlib")
    ends = [0.0] * 2, [9.0] * 2
    none = catalogue.Entry("x", "ibm7535", *ends, "none", float("nan"), "", [], [], {}, "far")
    first = list(islice(catalogue.tables(), 1))
    files = catalogue.write(tmp_path, first, [*cells[:3], none], "motions")
    content = json.loads(files[0].read_text(encoding="utf-8"))
    assert content["setting"]["commit"]
    assert content["tables"][0]["t_final"] == pytest.approx(2.0)
    assert content["tables"][0]["structure"] == "- 1+"
    assert content["grid"][3]["t_final"] is None
    rows = list(csv.DictReader(files[1].read_text(encoding="utf-8").splitlines()))
    assert float(rows[0]["t_final_s"]) == pytest.approx(cells[0].t_final)
    assert files[2].read_bytes().startswith(b"\x89PNG")
