"""What the site adds to pages as they stand: links, charts of benchmarks, commands of examples.

Pages are written for a reader of the repository, where files link to each other across folders. On
the site the same links lead to the site's pages, or to a download of the file.
"""

import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

import manip_dyn as md
from manip_dyn.bench.page import charts, newest, svg

ROOT = Path(md.__file__).parents[1]
MOVED = {
    "../README.md#from-your-own-node": "own_node.md",
    "../examples/README.rst": "gallery/index.rst",
    "../benchmarks/README.md": "benchmarks.md",
    "../CONTRIBUTING.md": "contributing.md",
    "../CHANGELOG.md": "changelog.md",
    "../README.md": "index.md",
}
THUMBNAIL = re.compile(r"(:doc:`/gallery/(\d\d_\w+)`.*?thumbnail-title\">.*?</div>)", re.DOTALL)
BENCH = re.compile(r"<!-- bench (\w+) -->\n")


def adapt(app, page, source):
    """Rewrite the source of a page before it is parsed."""
    text = source[0]
    if page == "benchmarks":
        text = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
        text = BENCH.sub(lambda place: place[0] + _pictures(place[1]), text)
        text = re.sub(r"\]\((runs[\w./-]*)\)", r"](../benchmarks/\1)", text)
    if page in ("contributing", "changelog"):
        text = (ROOT / f"{page.upper()}.md").read_text(encoding="utf-8")
        text = text.replace("](docs/", "](")
    if page == "own_node":
        readme = (ROOT / "README.md").read_text(encoding="utf-8").replace("](docs/", "](")
        text += readme.partition("## From your own node\n")[2].partition("\n## ")[0]
    for link, here in MOVED.items():
        text = text.replace(f"]({link}", f"]({here}")
    text = re.sub(r"\]\(\.\./examples/(\w+)\.py\)", r"](gallery/\1.rst)", text)
    text = re.sub(
        r"\[([^\]]+)\]\(\.\./benchmarks/(?:runs|catalogue|sweeps)/?\)", r"\1", text
    )  # a folder
    text = re.sub(r'^<a id="([\w-]+)"></a>', r"(\1)=\n", text, flags=re.MULTILINE)
    if page == "gallery/index":
        text = THUMBNAIL.sub(r"\1<code>python examples/<wbr>\2.py</code>", text)
    elif page.startswith("gallery/"):
        text = re.sub(r"(\n=+\n)", rf"\1\n``python examples/{page[8:]}.py``\n", text, count=1)
    source[0] = text


def _pictures(suite: str) -> str:
    """Return the charts of a suite's newest record, to stand above its table."""
    found = newest(suite, ROOT / "benchmarks" / "runs")
    drawn = "".join(svg(each, alone=False) for each in charts(found[0])) if found else ""
    return f'\n<div class="charts">{drawn}</div>\n\n' if drawn else ""


def found(app, env, node, contnode):
    """Lead a name to where the reference has it; types of others are shown as they are.

    A class is documented as ``manip_dyn.Robot``, whichever file it stands in.
    """
    if node.get("refdomain") != "py" or node.get("reftype") not in ("class", "obj", "exc", "data"):
        return None
    if not hasattr(app, "classes"):
        objects = env.get_domain("py").objects
        app.classes = {
            each.rpartition(".")[2]: objects[each]
            for each in sorted(objects, key=len, reverse=True)
        }
    name = node["reftarget"].rpartition(".")[2]
    entry = app.classes.get(name) if name[:1].isupper() else None
    return _link(app, env, node, contnode, entry) if entry else contnode


def _link(app, env, node, contnode, entry):
    place = app.builder.get_relative_uri(env.docname, entry.docname)
    link = nodes.reference("", "", internal=True, refuri=f"{place}#{entry.node_id}")
    link += contnode
    return link


def plain(app, what, name, thing, options, lines):
    """Let a docstring's formulas be formulas: |e| and p* are no markup there."""
    for i, line in enumerate(lines):
        parts = re.split(r"(``.*?``|`[^`]*`)", line)
        parts[::2] = [re.sub(r"([|*])", r"\\\1", part) for part in parts[::2]]
        lines[i] = "".join(parts)


def named(app, what, name, thing, options, signature, returned):
    """Show aliases such as ArrayLike by their names, also as a part of another type."""
    short = [
        each and re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", each)
        for each in (signature, returned)
    ]
    return tuple(short)


def setup(app: Sphinx):
    """Connect."""
    app.connect("source-read", adapt)
    app.connect("autodoc-process-docstring", plain, priority=400)
    app.connect("autodoc-process-signature", named)
    app.connect("missing-reference", found)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
