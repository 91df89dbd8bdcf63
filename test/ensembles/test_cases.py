"""The cases of a sweep: grids, samples, products, and what cannot be a case."""

import numpy as np
import pytest
from scipy.stats import qmc

import manip_dyn as md

SAMPLED = ("random", "sobol", "latin_hypercube")


def test_a_grid_is_every_combination_and_a_product_every_pair():
    cases = md.Cases.grid(a=[1, 2], b=["x", "y"]) * md.Cases([{"c": [0, 1]}, {"c": [2.5, 3]}])
    assert len(cases) == 8
    assert cases[0] == {"a": 1, "b": "x", "c": [0.0, 1.0]}
    assert cases[3] == {"a": 1, "b": "y", "c": [2.5, 3.0]}
    assert list(cases)[-1] == cases[-1] == {"a": 2, "b": "y", "c": [2.5, 3.0]}
    assert cases[1:3] == [cases[1], cases[2]]


def test_numbers_of_one_name_are_of_one_kind():
    assert [type(case["a"]) for case in md.Cases.grid(a=[1, 2.5])] == [float, float]
    assert [type(case["a"]) for case in md.Cases.grid(a=np.arange(2))] == [int, int]


@pytest.mark.parametrize("kind", SAMPLED)
def test_samples_are_the_same_for_a_seed_and_lie_in_their_ranges(kind):
    box = {"scale": (0.5, 1.5), "goal": ([-1.0, 0.0], [1.0, 3.0])}
    first, again, other = (getattr(md.Cases, kind)(64, seed, **box) for seed in (3, 3, 4))
    assert list(first) == list(again) != list(other)
    assert first.identity("task") == again.identity("task") != other.identity("task")
    points = np.array([[case["scale"], *case["goal"]] for case in first])
    assert np.all((points >= [0.5, -1.0, 0.0]) & (points <= [1.5, 1.0, 3.0]))
    unit = (points - [0.5, -1.0, 0.0]) / [1.0, 2.0, 3.0]
    if kind == "latin_hypercube":
        assert all(sorted(np.floor(64 * each)) == list(range(64)) for each in unit.T)
    if kind == "sobol":  # fills space far better than chance
        chance = np.random.default_rng(0).random(unit.shape)
        assert qmc.discrepancy(unit) < 0.25 * qmc.discrepancy(chance)


def test_another_task_or_digit_is_another_sweep():
    cases = md.Cases.grid(a=[0.1, 0.2])
    assert cases.identity("task") != cases.identity("another")
    assert cases.identity("task") != md.Cases.grid(a=[0.1, np.nextafter(0.2, 1)]).identity("task")
    assert cases.identity("task") != md.Cases.grid(b=[0.1, 0.2]).identity("task")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: md.Cases([]), "no cases"),
        (lambda: md.Cases([{"a": 1}, {"b": 1}]), "case 1 has b; expected the names of case 0, a"),
        (lambda: md.Cases([{"status": 1}]), "'status'"),
        (lambda: md.Cases([{"a": 1}, {"a": "x"}]), "several kinds, int, str"),
        (lambda: md.Cases([{"a": np.nan}]), "a is nan; expected a finite number"),
        (lambda: md.Cases([{"a": {}}]), "expected a finite number"),
        (lambda: md.Cases([{"a": ["x"]}]), "expected a finite number"),
        (lambda: md.Cases.grid(a=3), "a is 3; expected a list"),
        (lambda: md.Cases.grid(a=[]), "expected a list"),
        (lambda: md.Cases.grid(a=[1]) * md.Cases.grid(a=[2]), "varied twice"),
        (lambda: md.Cases.sobol(0, a=(0, 1)), "count is 0"),
        (lambda: md.Cases.sobol(1.5, a=(0, 1)), "count is 1.5"),
        (lambda: md.Cases.random(4, -1, a=(0, 1)), "seed is -1"),
        (lambda: md.Cases.random(4), "nothing varies"),
        (lambda: md.Cases.random(4, a=3), "a is 3; expected"),
        (lambda: md.Cases.random(4, a=(2, 1)), "expected low before high"),
        (lambda: md.Cases.random(4, a=([0, 0], 1)), "two finite numbers, or two lists"),
        (lambda: md.Cases.random(4, a=(0, np.inf)), "two finite numbers"),
    ],
)
def test_what_is_no_case_is_refused(make, said):
    with pytest.raises(md.ManipDynError, match=said):
        make()
