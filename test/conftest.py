"""Garbage is looked for rarely: each time means a look at all the objects that compiling made."""

import gc


def pytest_configure():
    gc.set_threshold(100_000, 20, 50)


def pytest_collection_finish():
    gc.freeze()
