"""Cases of a sweep: grids, samples, products and invalid cases."""

import tracemalloc

import numpy as np
import pytest

import manip_dyn as md

SAMPLED = ("random", "sobol", "latin_hypercube")


def test_grids_contain_all_combinations_and_products_all_pairs():
    cases = md.Cases.grid(a=[1, 2], b=["x", "y"]) * md.Cases([{"c": [0, 1]}, {"c": [2.5, 3]}])
    assert len(cases) == 8
    assert cases[0] == {"a": 1, "b": "x", "c": [0.0, 1.0]}
    assert cases[3] == {"a": 1, "b": "y", "c": [2.5, 3.0]}
    assert list(cases)[-1] == cases[-1] == {"a": 2, "b": "y", "c": [2.5, 3.0]}
    assert list(cases[1:3]) == [cases[1], cases[2]]


def test_numbers_of_a_name_have_one_type():
    assert [type(case["a"]) for case in md.Cases.grid(a=[1, 2.5])] == [float, float]
    assert [type(case["a"]) for case in md.Cases.grid(a=np.arange(2))] == [int, int]


@pytest.mark.parametrize("kind", SAMPLED)
def test_samples_are_reproducible_by_seed_and_within_their_ranges(kind):
    box = {"scale": (0.5, 1.5), "goal": ([-1.0, 0.0], [1.0, 3.0])}
    first, again, reseeded = (getattr(md.Cases, kind)(64, seed, **box) for seed in (3, 3, 4))
    assert list(first) == list(again) != list(reseeded)
    assert first.identity("task") == again.identity("task") != reseeded.identity("task")
    points = np.array([[case["scale"], *case["goal"]] for case in first])
    assert np.all((points >= [0.5, -1.0, 0.0]) & (points <= [1.5, 1.0, 3.0]))
    unit = (points - [0.5, -1.0, 0.0]) / [1.0, 2.0, 3.0]
    if kind == "latin_hypercube":
        assert all(sorted(np.floor(64 * layer)) == list(range(64)) for layer in unit.T)
    if kind == "sobol":  # fills the box much more evenly than random samples
        from scipy.stats import qmc  # loads slowly

        random = np.random.default_rng(0).random(unit.shape)
        assert qmc.discrepancy(unit) < 0.25 * qmc.discrepancy(random)


def test_identity_depends_on_task_names_and_every_digit():
    cases = md.Cases.grid(a=[0.1, 0.2])
    assert cases.identity("task") != cases.identity("another")
    assert cases.identity("task") != md.Cases.grid(a=[0.1, np.nextafter(0.2, 1)]).identity("task")
    assert cases.identity("task") != md.Cases.grid(b=[0.1, 0.2]).identity("task")


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: md.Cases([]), "at least one case, got none"),
        (lambda: md.Cases([{"status": 1}]), "'status'"),
        (lambda: md.Cases.grid(a=3), "a must be a list of values, got 3"),
        (lambda: md.Cases.grid(a=[]), "must be a list of values"),
        (lambda: md.Cases.grid(a=np.array(1.0)), "must be a list of values"),
        (lambda: md.Cases.grid(a=[1]) * 3, "multiplied by Cases, got 3"),
        (lambda: md.Cases.grid(a=[1]) * md.Cases.grid(a=[2]), "must vary once, got 'a' twice"),
        (lambda: md.Cases.grid(), "must have names with"),
        (lambda: md.Cases(3), "a case must be a dictionary .* got 3"),
        (lambda: md.Cases({"a": [1]}), "a case must be a dictionary .* got 'a'"),
        (
            lambda: md.Cases.grid(a=range(10**4), b=range(10**4)),
            "at most 10000000 cases, got 100000000",
        ),
        (lambda: md.Cases.grid(a=range(10**4)) * md.Cases.grid(b=range(10**4)), "100000000"),
        (
            lambda: md.Cases.random(10**9, a=(0, 1)),
            "count must be at most 10000000, got 1000000000",
        ),
        (lambda: md.Cases.sobol(0, a=(0, 1)), "count must be a whole number, 1 or more, got 0"),
        (
            lambda: md.Cases.sobol(1.5, a=(0, 1)),
            "count must be a whole number, 1 or more, got 1.5",
        ),
        (
            lambda: md.Cases.random(4, -1, a=(0, 1)),
            "seed must be a whole number, 0 or more, got -1",
        ),
        (lambda: md.Cases.random(4), "must have names with"),
        (lambda: md.Cases.random(4, a=3), "a must be .* got 3"),
        (lambda: md.Cases.random(4, a=(2, 1)), "a must be low before high"),
        (lambda: md.Cases.random(4, a=([0, 0], 1)), "two finite numbers, or two lists"),
        (lambda: md.Cases.random(4, a=(0, np.inf)), "two finite numbers"),
    ],
)
def test_invalid_cases_raise(build, message):
    with pytest.raises(md.ManipDynError, match=message):
        build()


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ({"b": 1}, "the case must have a, got b"),
        ({"a": 1, "b": 1}, "the case must have a, got a, b"),
        ({}, "the case must have a, got {}"),
        (7, "the case must have a, got 7"),
        ({"a": "x"}, "a must be a number, as in other cases, got 'x'"),
        ({"a": True}, "a must be a number, as in other cases, got True"),
        ({"a": np.nan}, "a must be a finite number, a string or numbers, got nan"),
        ({"a": None}, "a must be a finite number, a string or numbers, got None"),
        ({"a": {}}, "a must be a finite number, a string or numbers, got {}"),
        ({"a": ["x"]}, "a must be a finite number, a string or numbers, got 'x'"),
        ({"a": 10**30}, "a must be below 2^63"),
    ],
)
def test_invalid_cases_are_marked_and_other_cases_remain(case, message):
    cases = md.Cases([case, {"a": 0.5}, {"a": 2}])
    assert list(cases.faults) == [0]
    assert message in cases.faults[0]
    assert list(cases)[1:] == [{"a": 0.5}, {"a": 2.0}]
    pairs = md.Cases.grid(b=["x", "y"]) * cases
    assert list(pairs.faults) == [0, 3]
    assert pairs[4] == {"b": "y", "a": 0.5}
    assert pairs.identity("") != (md.Cases.grid(b=["x", "y"]) * md.Cases.grid(a=[0, 1])).identity(
        ""
    )


def test_samples_require_little_memory():
    count = 50_000
    tracemalloc.start()
    try:
        cases = md.Cases.random(count, a=(0, 1), b=(0, 1)) * md.Cases.grid(c=["x", "y"])
        part = cases[count:]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (len(cases), len(part), part[0]) == (2 * count, count, cases[count])
    assert peak < 100 * len(cases), "more than 100 bytes per case"


def test_cases_may_list_names_in_any_order():
    cases = md.Cases([{"a": 1, "b": 2}, {"b": 3, "a": 4}])
    assert list(cases) == [{"a": 1, "b": 2}, {"a": 4, "b": 3}]
    assert cases.faults == {}
