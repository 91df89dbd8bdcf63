"""Common code of all studies: verdicts, tables, charts, findings, settings."""

import csv
import json
import math
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.studies import report


def claim(*holds):
    return report.Claim(
        "key", "ratio", tuple(report.Evidence(f"case {k}", k, h) for k, h in enumerate(holds))
    )


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
def test_a_verdict_follows_from_the_fraction_of_cases(good, bad, status):
    judged = claim(*[True] * good, *[False] * bad)
    assert judged.status == status
    assert (len(judged.holds), len(judged.exceptions)) == (good, bad)
    if good + bad:
        assert judged.fraction == good / (good + bad)
        assert (judged.least, judged.most) == (0, good + bad - 1)
        assert judged.number == (good + bad - 1) / 2
    else:
        assert math.isnan(judged.fraction)


def test_a_chosen_value_is_confirmed_by_construction():
    evidence = tuple(
        report.Evidence(f"case {k}", 1.0, holds) for k, holds in enumerate([True] * 3)
    )
    built = report.Claim("key", "ratio", evidence, constructed=True)
    assert built.verdict == "by construction"
    assert report.kind_of(built.verdict) == "open"


def test_exceptions_of_curves_are_counted_with_their_errors():
    evidence = (
        report.Evidence("a and b", 2.0, True, 1e-3),
        report.Evidence("a and b", 0.5, False, 1e-6),
        report.Evidence("a and b", 0.4, False, 1e-9),
        report.Evidence("b and c", 3.0, True, 1e-3),
    )
    judged = report.Claim("key", "ratio", evidence, "arm")
    assert judged.exceptions == ("a and b: 2 of 3, errors 1e-09 .. 1e-06",)
    assert judged.holds == (
        "a and b: 1 of 3, errors 1e-03 .. 1e-03",
        "b and c: 1 of 1, errors 1e-03 .. 1e-03",
    )


def test_the_text_of_a_claim_lists_the_smaller_set_of_cases():
    text = report.claims_text("claims", [claim(True, False, False)], {"key": "a is better than b"})
    assert '  published: "a is better than b"' in text
    assert "computed: refuted, 33% of 3 cases, median 1 (0 .. 2)" in text
    assert "only case 0: 0" in text
    assert "computed: not measured\n" in report.claims_text(
        "claims", [claim()], {"key": "unknown"}
    )


def test_a_csv_has_lists_in_its_cells(tmp_path):
    table = report.Table("t", "title", ("a", "b", "c"), (("x", (1.5, 2.0), ("one", "two")),))
    with table.write(tmp_path).open() as file:
        assert list(csv.reader(file)) == [["a", "b", "c"], ["x", "1.5 2.0", "one; two"]]
    table = report.claims_table([claim(True, True)], {"which": "key", "holds": "holds"})
    assert table.content()["rows"] == [{"which": "key", "holds": ("case 0: 0", "case 1: 1")}]


def test_columns_are_aligned():
    assert report.columns([("a", "bb"), ("ccc", "d")]) == "  a    bb\n  ccc   d"


STYLES = ("-", "--", ":", "-.", "o", "-o", "--o", "bar")


def test_a_chart_is_drawn_and_converted_to_a_table(tmp_path):
    lines = [
        report.Line(style, (1.0, 2.0), (1.0, k + 1.0), k, style) for k, style in enumerate(STYLES)
    ]
    panels = (
        report.Panel("one", "x", "y", tuple(lines)),
        report.Panel(
            "two", "x", "y", (report.Line("grey", (0.0, 1.0), (1.0, 2.0), None),), log_y=True
        ),
        report.Panel("three", "x", "y", (lines[0],), equal=True),
    )
    chart = report.Chart("chart", "title", panels, 2, (6.0, 5.0))
    files = report.draw(chart, tmp_path)
    assert [file.name for file in files] == ["chart.png", "chart.svg"]
    assert files[0].read_bytes().startswith(b"\x89PNG")
    assert "<svg" in files[1].read_text()
    assert chart.table().rows[:2] == (("one", "-", 1.0, 1.0), ("one", "-", 2.0, 1.0))
    assert len(chart.table().rows) == 2 * (len(STYLES) + 2)
    assert json.loads(json.dumps(chart.content()))["panels"][1]["lines"][0]["color"] is None


@dataclass(frozen=True)
class Example(report.Findings):
    paper = "nobody1900"
    published = MappingProxyType({"source": "Anonymous (1900)"})

    number: float = math.nan

    def paragraphs(self):
        yield f"number {self.number}"

    def values(self):
        return {"number": self.number, "array": np.array([1.0, math.inf]), "pair": (1, "x")}

    def csv_tables(self):
        yield report.Table("numbers", "", ("number",), ((self.number,),))


def test_findings_have_text_json_and_files(tmp_path):
    findings = Example({"commit": "abc"}, 2.5)
    assert str(findings) == "commit abc\n\nnumber 2.5"
    assert findings.content() == {
        "paper": "nobody1900",
        "source": "Anonymous (1900)",
        "setting": {"commit": "abc"},
        "number": 2.5,
        "array": [1.0, None],
        "pair": [1, "x"],
    }
    assert [file.name for file in findings.write(tmp_path)] == ["numbers.csv"]


def test_an_undefined_name_is_rejected_with_the_closest_name():
    report.check_names("shown", ["one", "two"], ("one", "two"))
    with pytest.raises(
        md.ManipDynError, match="shown must be defined names, got 'on'; did you mean 'one'"
    ):
        report.check_names("shown", ["on"], ("one", "two"))
