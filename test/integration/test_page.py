"""The page on integration methods has the tables of its generator; the guide's example runs."""

import re
from pathlib import Path

import numpy as np
import pytest

from manip_dyn.integration import ALIASES, METHODS
from manip_dyn.integration import page as generator

PAGE = Path(__file__).parents[2] / "docs" / "integration_methods.md"
NAMES = [name for name in METHODS if name not in ALIASES]


@pytest.fixture
def page():
    if not PAGE.is_file():
        pytest.skip("not a checkout")
    return PAGE.read_text()


def test_the_table_of_methods_is_the_one_of_the_generator(page):
    command = "run python -m manip_dyn.integration.page docs/integration_methods.md"
    assert generator.updated(page) == page, command


def test_every_method_is_measured_and_two_are_measured_again(page):
    rows = generator.measurements_on(page)
    assert list(rows) == NAMES
    exact = generator.solved(METHODS["rkdp87"], 40_000)[0]
    for name, steps in (("rk4", 500), ("ab4", 2000)):
        error = np.abs(generator.solved(METHODS[name], steps)[0] - exact).max()
        assert error == pytest.approx(float(rows[name][0]), rel=0.5)


def test_the_generator_replaces_an_old_table(page):
    old = page.replace(generator.method_table(), "| method |\n| --- |\n| `rk0` |\n")
    assert old != page
    assert generator.updated(old) == page


def test_only_methods_without_a_row_are_measured(page):
    row = re.search(r"^\| `rk4` \| \de-\d\d \| \d+ \|\n", page, re.MULTILINE).group()
    measured = generator.updated(page.replace(row, ""))
    rows = {
        name: generator.measurements_on(text) for name, text in (("old", page), ("new", measured))
    }
    assert list(rows["new"]) == list(rows["old"]) == NAMES
    assert [name for name in NAMES if rows["new"][name] != rows["old"][name]] in ([], ["rk4"])
    errors = [float(rows[text]["rk4"][0]) for text in ("old", "new")]
    assert errors[1] == pytest.approx(errors[0], rel=0.5)


def test_the_first_example_of_the_guide_runs(page, capsys):
    guide = PAGE.with_name("integrators.md").read_text()
    exec(re.search(r"```python\n(.*?)```", guide, re.DOTALL).group(1), {})
    assert capsys.readouterr().out.startswith("t = 10 s was reached")


def test_every_method_is_registered_under_its_name():
    assert all(METHODS[name].name == name for name in NAMES)
    assert len({id(METHODS[name]) for name in NAMES}) == len(NAMES)
