"""Fixtures for the tests of minimum time."""

import pytest
from arms import write
from extremals import CYLINDRICAL

import manip_dyn as md


@pytest.fixture
def cylindrical(tmp_path):
    return md.load_robot(write(tmp_path, CYLINDRICAL))
