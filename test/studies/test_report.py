"""What all studies share: verdicts, tables, charts, findings, settings."""

import csv
import json
import math
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import pytest

from manip_dyn.core.errors import ManipDynError
from manip_dyn.studies.report.charts import Chart, Line, Panel, draw
from manip_dyn.studies.report.claims import Claim, Evidence, claims_table, claims_text
from manip_dyn.studies.report.findings import Findings
from manip_dyn.studies.report.settings import check_names
from manip_dyn.studies.report.tables import Table, columns


def claim(*holds):
    return Claim("key", "ratio", tuple(Evidence(f"case {k}", k, h) for k, h in enumerate(holds)))


@pytest.mark.parametrize(
    ("good", "bad", "status"),
    [
        (19, 1, "confirmed"),
        (18, 1, "partly confirmed"),
        (1, 1, "partly confirmed"),
        (1, 2, "refuted"),
        (0, 0, "not measured"),
    ],
)
def test_a_verdict_is_the_share_of_the_cases(good, bad, status):
    found = claim(*[True] * good, *[False] * bad)
    assert found.status == status
    assert (len(found.holds), len(found.exceptions)) == (good, bad)
    if good + bad:
        assert found.share == good / (good + bad)
        assert (found.least, found.most) == (0, good + bad - 1)
        assert found.number == (good + bad - 1) / 2
    else:
        assert math.isnan(found.share)


def test_exceptions_of_curves_are_counted_with_their_errors():
    evidence = (
        Evidence("a and b", 2.0, True, 1e-3),
        Evidence("a and b", 0.5, False, 1e-6),
        Evidence("a and b", 0.4, False, 1e-9),
        Evidence("b and c", 3.0, True, 1e-3),
    )
    found = Claim("key", "ratio", evidence, "arm")
    assert found.exceptions == ("a and b: 2 of 3, errors 1e-09 .. 1e-06",)
    assert found.holds == (
        "a and b: 1 of 3, errors 1e-03 .. 1e-03",
        "b and c: 1 of 1, errors 1e-03 .. 1e-03",
    )


def test_claims_are_told_with_the_fewer_cases():
    text = claims_text("claims", [claim(True, False, False)], {"key": "a is better than b"})
    assert '  published: "a is better than b"' in text
    assert "computed: refuted, 33% of 3 cases, median 1 (0 .. 2)" in text
    assert "only case 0: 0" in text
    assert "computed: not measured\n" in claims_text("claims", [claim()], {"key": "unknown"})


def test_a_csv_has_lists_in_its_cells(tmp_path):
    table = Table("t", "title", ("a", "b", "c"), (("x", (1.5, 2.0), ("one", "two")),))
    with table.write(tmp_path).open() as file:
        assert list(csv.reader(file)) == [["a", "b", "c"], ["x", "1.5 2.0", "one; two"]]
    found = claims_table([claim(True, True)], {"which": "key", "holds": "holds"})
    assert found.content()["rows"] == [{"which": "key", "holds": ("case 0: 0", "case 1: 1")}]


def test_columns_stand_below_each_other():
    assert columns([("a", "bb"), ("ccc", "d")]) == "  a    bb\n  ccc   d"


STYLES = ("-", "--", ":", "-.", "o", "-o", "--o", "bar")


def test_a_chart_is_drawn_and_tabled(tmp_path):
    lines = [Line(style, (1.0, 2.0), (1.0, k + 1.0), k, style) for k, style in enumerate(STYLES)]
    panels = (
        Panel("one", "x", "y", tuple(lines)),
        Panel("two", "x", "y", (Line("grey", (0.0, 1.0), (1.0, 2.0), None),), log_y=True),
        Panel("three", "x", "y", (lines[0],), equal=True),
    )
    chart = Chart("chart", "title", panels, 2, (6.0, 5.0))
    files = draw(chart, tmp_path)
    assert [file.name for file in files] == ["chart.png", "chart.svg"]
    assert files[0].read_bytes().startswith(b"\x89PNG")
    assert "<svg" in files[1].read_text()
    assert chart.table().rows[:2] == (("one", "-", 1.0, 1.0), ("one", "-", 2.0, 1.0))
    assert len(chart.table().rows) == 2 * (len(STYLES) + 2)
    assert json.loads(json.dumps(chart.content()))["panels"][1]["lines"][0]["color"] is None


@dataclass(frozen=True)
class Found(Findings):
    paper = "nobody1900"
    published = MappingProxyType({"source": "Nobody (1900)"})

    number: float = math.nan

    def paragraphs(self):
        yield f"number {self.number}"

    def values(self):
        return {"number": self.number, "array": np.array([1.0, math.inf]), "pair": (1, "x")}

    def csv_tables(self):
        yield Table("numbers", "", ("number",), ((self.number,),))


def test_findings_are_told_in_one_way(tmp_path):
    found = Found({"commit": "abc"}, 2.5)
    assert str(found) == "commit abc\n\nnumber 2.5"
    assert found.content() == {
        "paper": "nobody1900",
        "source": "Nobody (1900)",
        "setting": {"commit": "abc"},
        "number": 2.5,
        "array": [1.0, None],
        "pair": [1, "x"],
    }
    assert [file.name for file in found.write(tmp_path)] == ["numbers.csv"]


def test_a_name_that_is_not_there_is_told_with_the_nearest():
    check_names("shown", ["one", "two"], ("one", "two"))
    with pytest.raises(ManipDynError, match="shown has 'on'; did you mean 'one'"):
        check_names("shown", ["on"], ("one", "two"))
