"""Cheap functions that sweeps call in other processes, and marks of their calls."""

import os
import signal
import time
from pathlib import Path

import numpy as np

import manip_dyn as md


def cases():
    """Return the cases of `rotated`; a function, because samplers load slowly."""
    return md.Cases.latin_hypercube(40, seed=2, x=(0.0, 1.0), angle=(0.0, 6.0))


def rotated(x, angle):
    """Return numbers of several types, whose last digits reveal any other computation."""
    rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    if x < 0.1:
        raise md.ManipDynError(f"x must be 0.1 or more, got {x:g}.")
    if x > 0.9:
        raise ZeroDivisionError("x is\ntoo large")
    return {"place": rotation @ [x, 1.0], "length": np.hypot(x, angle), "quarter": int(4 * x)}


class Marked:
    """Function that doubles x and writes a file to a folder at every call."""

    def __init__(self, folder, die_once=(), die_always=(), pause=0.0):
        """Store the folder, and cases that kill the process."""
        self.folder, self.pause = str(folder), pause
        self.die_once, self.die_always = tuple(die_once), tuple(die_always)
        self.identity = "marked"

    def __call__(self, x):
        """Return twice x."""
        mark = Path(self.folder, f"{x}-{os.getpid()}-{time.monotonic_ns()}")
        first = not list(Path(self.folder).glob(f"{x}-*"))
        mark.write_text("")
        if x in self.die_always or (x in self.die_once and first):
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(self.pause)
        return {"twice": 2 * x}

    @staticmethod
    def marks(folder):
        """Return the number of calls per x."""
        begun = [int(file.name.split("-")[0]) for file in Path(folder).iterdir()]
        return {x: begun.count(x) for x in set(begun)}
