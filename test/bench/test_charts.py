"""Charts of records: what is longer or further right is more, and every value is told."""

import re
from math import log10

import pytest

from manip_dyn.bench.dynamics import Row
from manip_dyn.bench.page import Chart, charts, svg
from manip_dyn.bench.record import Record
from manip_dyn.bench.timing import Timing

VALUES = (("manip_dyn", 40.0), ("a < b", 10.0), ("peer", 0.5))


def numbers(pattern, text):
    return [float(each) for each in re.findall(pattern, text)]


def test_bars_are_as_long_as_their_values():
    drawn = svg(Chart("title", "unit", VALUES, log=False))
    lengths = numbers(r'width="([\d.]+)" height', drawn)
    assert [length / lengths[0] for length in lengths] == pytest.approx([1.0, 0.25, 0.0125], 0.02)
    assert drawn.count(' ours"') == 1
    assert "a &lt; b" in drawn


def test_dots_stand_at_the_logarithms_of_their_values():
    first, second, third = numbers(r'cx="([\d.]+)"', svg(Chart("title", "unit", VALUES)))
    share = log10(40.0 / 10.0) / log10(40.0 / 0.5)
    assert (first - second) / (first - third) == pytest.approx(share, abs=1e-3)


def test_a_chart_for_a_page_leaves_the_styles_to_the_page():
    chart = Chart("title", "unit", VALUES)
    assert "<style>" in svg(chart)
    assert "<style>" not in svg(chart, alone=False)


def test_rates_are_those_of_the_record():
    timings = [Timing("peer", 2.0, 4.0), Timing("manip_dyn", 0.5, 1.0)]
    rows = [Row("pa10", kernel, "compiled", timings) for kernel in ("forward dynamics", "other")]
    (chart,) = charts(Record("dynamics", "2026-01-01", {}, rows))
    assert chart.values == (("manip_dyn", 2.0), ("peer", 0.5))
    assert charts(Record("cold", "2026-01-01", {}, [])) == []
