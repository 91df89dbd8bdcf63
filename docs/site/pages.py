"""Adapt the pages of the repository to the site: links, charts, examples and the reference.

Pages link to other files of the repository. On the site these links lead to the pages of the
site, or to a download of the file.
"""

import importlib
import inspect
import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

import manip_dyn as md
from manip_dyn.bench.page import charts, newest, svg

ROOT = Path(md.__file__).parents[1]
SITE_PAGES = {
    "../examples/README.rst": "gallery/index.rst",
    "../benchmarks/README.md": "benchmarks.md",
    "../CONTRIBUTING.md": "contributing.md",
    "../CHANGELOG.md": "changelog.md",
    "../README.md": "index.md",
}
THUMBNAIL = re.compile(r"(:doc:`/gallery/(\d\d_\w+)`.*?thumbnail-title\">.*?</div>)", re.DOTALL)
BENCH = re.compile(r"<!-- bench (\w+) -->\n")
FURTHER_NAMES = re.compile(r"<!-- further names of ([\w.]+) -->\n")


def adapt_source(app, page, source):
    """Rewrite the source of a page before it is parsed."""
    text = source[0]
    if page == "benchmarks":
        text = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
        text = BENCH.sub(lambda match: match[0] + _charts(match[1]), text)
        text = re.sub(r"\]\((runs[\w./-]*)\)", r"](../benchmarks/\1)", text)
    if page in ("contributing", "changelog"):
        text = (ROOT / f"{page.upper()}.md").read_text(encoding="utf-8")
        text = text.replace("](docs/", "](")
    for link, target in SITE_PAGES.items():
        text = text.replace(f"]({link}", f"]({target}")
    text = re.sub(r"\]\(\.\./examples/(\w+)\.py\)", r"](gallery/\1.rst)", text)
    text = re.sub(
        r"\[([^\]]+)\]\(\.\./benchmarks/(?:runs|catalogue|sweeps)/?\)", r"\1", text
    )  # folders have no page
    text = re.sub(r'^<a id="([\w-]+)"></a>', r"(\1)=\n", text, flags=re.MULTILINE)
    if page == "gallery/index":
        text = THUMBNAIL.sub(r"\1<code>python examples/<wbr>\2.py</code>", text)
    elif page.startswith("gallery/"):
        text = re.sub(r"(\n=+\n)", rf"\1\n``python examples/{page[8:]}.py``\n", text, count=1)
    elif page.startswith("reference/"):
        text = FURTHER_NAMES.sub(lambda match: _further_names(match[1], text), text)
    source[0] = text


def _charts(suite: str) -> str:
    """Return the charts of the newest record of a suite, for the place above its table."""
    records = newest(suite, ROOT / "benchmarks" / "runs")
    drawings = "".join(svg(chart, alone=False) for chart in charts(records[0])) if records else ""
    return f'\n<div class="charts">{drawings}</div>\n\n' if drawings else ""


def _further_names(package: str, text: str) -> str:
    """Return directives for the public names of a package that a page does not list."""
    module = importlib.import_module(package)
    listed = {*re.findall(r"^\.\. auto\w+:: ([\w.]+)$", text, re.MULTILINE), *md.__all__}
    lines = []
    for name in sorted(set(module.__all__) - listed):
        value = getattr(module, name)
        if inspect.isclass(value):
            lines += [f".. autoclass:: {name}", ""]
        elif callable(value):
            lines += [f".. autofunction:: {name}", ""]
        else:
            lines += [f".. py:data:: {name}", ""]
    if not lines:
        return ""
    block = "\n".join([f".. currentmodule:: {package}", "", *lines])
    return f"\n## Further names of `{package}`\n\n```{{eval-rst}}\n{block}\n```\n"


def resolve_reference(app, env, node, contnode):
    """Link a name to its entry in the reference; types of other packages remain plain text.

    A class is documented as ``manip_dyn.Robot``, independent of the module that defines it.
    """
    if node.get("refdomain") != "py" or node.get("reftype") not in ("class", "obj", "exc", "data"):
        return None
    if not hasattr(app, "classes"):
        objects = env.get_domain("py").objects
        app.classes = {
            name.rpartition(".")[2]: objects[name]
            for name in sorted(objects, key=len, reverse=True)
        }
    name = node["reftarget"].rpartition(".")[2]
    entry = app.classes.get(name) if name[:1].isupper() else None
    return _link(app, env, node, contnode, entry) if entry else contnode


def _link(app, env, node, contnode, entry):
    uri = app.builder.get_relative_uri(env.docname, entry.docname)
    link = nodes.reference("", "", internal=True, refuri=f"{uri}#{entry.node_id}")
    link += contnode
    return link


def escape_formulas(app, what, name, thing, options, lines):
    """Escape the formulas of a docstring: |e| and p* are not markup."""
    for i, line in enumerate(lines):
        words = re.split(r"(``.*?``|`[^`]*`)", line)
        words[::2] = [re.sub(r"([|*])", r"\\\1", word) for word in words[::2]]
        lines[i] = "".join(words)


def show_aliases(app, what, name, thing, options, signature, returned):
    """Show type aliases such as ArrayLike by their names in signatures."""
    return tuple(
        text and re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", text)
        for text in (signature, returned)
    )


def shorten_search_results(app, env):
    """Replace the descriptions of commands by their names, which are titles of search results."""
    commands = env.get_domain("commands").data["commands"]
    commands[:] = [(name, name, *rest) for name, _, *rest in commands]


def setup(app: Sphinx):
    """Connect the functions of this extension."""
    app.connect("env-updated", shorten_search_results)
    app.connect("source-read", adapt_source)
    app.connect("autodoc-process-docstring", escape_formulas, priority=400)
    app.connect("autodoc-process-signature", show_aliases)
    app.connect("missing-reference", resolve_reference)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
