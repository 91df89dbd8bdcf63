"""Charts of records: lengths and positions are proportional to values."""

import re
from math import log10

import pytest

from manip_dyn.bench import Record, Timing, dynamics, page

VALUES = (("manip_dyn", 40.0), ("a < b", 10.0), ("peer", 0.5))


def numbers(pattern, text):
    return [float(number) for number in re.findall(pattern, text)]


def test_lengths_of_bars_are_proportional_to_values():
    drawn = page.svg(page.Chart("title", "unit", VALUES, log=False))
    lengths = numbers(r'width="([\d.]+)" height', drawn)
    assert [length / lengths[0] for length in lengths] == pytest.approx([1.0, 0.25, 0.0125], 0.02)
    assert drawn.count(' ours"') == 1
    assert "a &lt; b" in drawn


def test_positions_of_dots_are_proportional_to_logarithms():
    first, second, third = numbers(r'cx="([\d.]+)"', page.svg(page.Chart("title", "unit", VALUES)))
    expected = log10(40.0 / 10.0) / log10(40.0 / 0.5)
    assert (first - second) / (first - third) == pytest.approx(expected, abs=1e-3)


def test_a_chart_within_a_page_has_no_styles():
    chart = page.Chart("title", "unit", VALUES)
    assert "<style>" in page.svg(chart)
    assert "<style>" not in page.svg(chart, alone=False)


def test_a_chart_of_rates_has_the_values_of_the_record():
    timings = [
        Timing("the call", 0.5, 1.0),
        Timing("inside: in place", 0.4, 0.8),
        Timing("peer", 2.0, 4.0),
    ]
    kernels = ("forward dynamics", "other")
    rows = [dynamics.Row("pa10", kernel, dynamics.MANY, timings) for kernel in kernels]
    (chart,) = page.charts(Record("dynamics", "2026-01-01", {}, rows))
    assert chart.values == (("manip_dyn, batched", 2.0), ("peer", 0.5))
    assert page.charts(Record("cold", "2026-01-01", {}, [])) == []
