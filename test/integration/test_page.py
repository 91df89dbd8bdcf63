"""The user page shows the registry as it is, and its example runs."""

import re
from pathlib import Path

import numpy as np
import pytest

from manip_dyn.integration import METHODS
from manip_dyn.integration.methods.registry import ALIASES
from manip_dyn.integration.page import method_table, solved

PAGE = Path(__file__).parents[2] / "docs" / "integrators.md"
DESIGN = (
    "rk1 rk2 rk2_heun rk3 rk4 rk5 rk6 rk7 rk8 rk10 rkf12 rkf23 rkf34 rkf45 rkf56 rkf78 rkv56 "
    "rkv67 rkv78 rkb12 rkb24 rkb34 rkb45 rkb56 rkdp54 rkdp87 taylor euler_trapezoidal ab4 abm4 "
    "rosenbrock_nystrom rosenbrock_w rodas5p"
)


def test_the_page_is_up_to_date():
    if not PAGE.is_file():
        pytest.skip("not a checkout")
    assert method_table() in PAGE.read_text(), "run python -m manip_dyn.integration.page"


def test_the_page_shows_what_the_methods_do():
    """Every method has a row; three are measured again."""
    if not PAGE.is_file():
        pytest.skip("not a checkout")
    rows = dict(
        re.findall(r"^\| `(\w+)`[^|]* \| (\de-\d\d) \| \d+ \|$", PAGE.read_text(), re.MULTILINE)
    )
    assert list(rows) == DESIGN.split()
    exact = solved(METHODS["rkdp87"], 40_000)[0]
    for name, steps in (("rk4", 500), ("ab4", 2000)):
        error = np.abs(solved(METHODS[name], steps)[0] - exact).max()
        assert error == pytest.approx(float(rows[name]), rel=0.5)


def test_the_page_starts_with_an_example_that_runs(capsys):
    if not PAGE.is_file():
        pytest.skip("not a checkout")
    exec(re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL).group(1), {})
    assert capsys.readouterr().out.startswith("True t = 10 s was reached")


def test_the_registry_has_the_names_of_the_design():
    assert [name for name in METHODS if name not in ALIASES] == DESIGN.split()
    assert all(METHODS[name].name == name for name in METHODS if name not in ALIASES)
    constructed = [name for name, method in METHODS.items() if "CONSTRUCTED" in method.source]
    assert constructed == ["rkb24", "rkb34", "rkb45", "rkb56"]
