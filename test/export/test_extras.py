"""Errors without PyTorch or JAX contain the installation command."""

import sys

import pytest

import manip_dyn as md


@pytest.mark.parametrize(
    ("library", "function"), [("torch", md.torch_function), ("jax", md.jax_function)]
)
def test_a_missing_library_raises_an_error_with_a_command(library, function, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    expected = rf"{library}_function needs {library}; pip install 'manip_dyn\[{library}\]'"
    with pytest.raises(md.ManipDynError, match=expected):
        function(md.load_robot("rr"), "gravity")
