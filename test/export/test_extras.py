"""Without PyTorch or JAX there is one sentence that says what to install."""

import sys

import pytest

import manip_dyn as md


@pytest.mark.parametrize(
    ("library", "function", "name"),
    [("torch", md.torch_function, "torch"), ("jax", md.jax_function, "jax")],
)
def test_what_is_missing_is_named(library, function, name, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    expected = rf"{library}_function needs {name}; expected pip install 'manip_dyn\[{library}\]'"
    with pytest.raises(md.ManipDynError, match=expected):
        function(md.load_robot("rr"), "gravity")
