"""What the scripts of examples/ say that they print, and what they print and draw."""

import re
import runpy
from pathlib import Path

import manip_dyn as md

EXAMPLES = Path(md.__file__).parents[1] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*.py"))


def told(file):
    """Return the lines that a script says it prints: the comments `# -> LINE`."""
    return re.findall(r"^# -> (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)


def shown(file, monkeypatch):
    """Run a script in this process and return its pictures, matplotlib's figures."""
    monkeypatch.setenv("MPLBACKEND", "agg")
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    plt.close("all")
    runpy.run_path(str(file), run_name="__main__")
    return [plt.figure(number) for number in plt.get_fignums()]


def check(file, monkeypatch, capsys):
    """A script prints what its comments say, and draws one picture with something in it."""
    (picture,) = shown(file, monkeypatch)
    printed = capsys.readouterr().out.splitlines()
    assert printed == told(file)
    assert printed
    for axes in picture.axes:
        assert axes.lines, file.name
        assert axes.get_xlabel() or axes.get_ylabel(), file.name
