"""Scripts of examples/, run as scripts and as notebooks, and their expected output."""

import re
import runpy
from importlib.util import find_spec
from pathlib import Path

import manip_dyn as md

EXAMPLES = Path(md.__file__).parents[1] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*.py"))
NOTEBOOKS = all(find_spec(name) for name in ("ipykernel", "sphinx_gallery"))
"""Whether the libraries that create and run notebooks are installed."""


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


DRAWN = """
drawn = [bool(a.lines and (a.get_xlabel() or a.get_ylabel())) for a in plt.gcf().axes]
plt.close("all")
"""
"""Code after a notebook: whether each plot of its picture has lines and a label."""


class Kernel:
    """A Jupyter kernel in which notebooks run one after the other."""

    def __init__(self):
        """Start the kernel."""
        from jupyter_client.manager import start_new_kernel

        self._manager, self._client = start_new_kernel()

    def close(self):
        """Stop the kernel."""
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)

    def run(self, code):
        """Run a cell and return its outputs."""
        contents = []
        reply = self._client.execute_interactive(
            code, output_hook=lambda message: contents.append(message["content"])
        )["content"]
        assert reply["status"] == "ok", "\n".join(reply["traceback"])
        return [content for content in contents if "text" in content or "data" in content]

    def check(self, file):
        """Run a script as the notebook that the site offers, and check what it shows."""
        from sphinx_gallery.gen_gallery import DEFAULT_GALLERY_CONF
        from sphinx_gallery.notebook import jupyter_notebook
        from sphinx_gallery.py_source_parser import split_code_and_text_blocks

        _, blocks = split_code_and_text_blocks(str(file))
        cells = jupyter_notebook(blocks, DEFAULT_GALLERY_CONF, file.parent)["cells"]
        codes = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
        assert cells[0]["cell_type"] == "markdown", "the title"
        codes[-1] += DRAWN
        self.run("%reset -f\n%config InlineBackend.close_figures = False")
        outputs = [output for code in codes for output in self.run(code)]
        printed = "".join(output["text"] for output in outputs if output.get("name") == "stdout")
        assert printed.splitlines() == expected_lines(file)
        assert printed
        assert ["image/png" in output["data"] for output in outputs if "data" in output] == [True]
        (drawn,) = self.run("drawn")
        assert "True" in drawn["data"]["text/plain"]
        assert "False" not in drawn["data"]["text/plain"]
