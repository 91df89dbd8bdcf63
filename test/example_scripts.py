"""Expected and actual output of the scripts of examples/."""

import re
import runpy
from pathlib import Path

import manip_dyn as md

EXAMPLES = Path(md.__file__).parents[1] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*.py"))


def expected_lines(file):
    """Return the expected output of a script: the comments `# -> LINE`."""
    return re.findall(r"^# -> (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)


def figures(file, monkeypatch):
    """Run a script in this process and return its matplotlib figures."""
    monkeypatch.setenv("MPLBACKEND", "agg")
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    plt.close("all")
    runpy.run_path(str(file), run_name="__main__")
    return [plt.figure(number) for number in plt.get_fignums()]


def check(file, monkeypatch, capsys):
    """Check that a script prints its expected lines and draws one picture."""
    (picture,) = figures(file, monkeypatch)
    printed = capsys.readouterr().out.splitlines()
    assert printed == expected_lines(file)
    assert printed
    for axes in picture.axes:
        assert axes.lines, file.name
        assert axes.get_xlabel() or axes.get_ylabel(), file.name
