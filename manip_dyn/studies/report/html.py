"""A study as a page of HTML: claims, tables published beside computed, pictures. No library."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from manip_dyn.studies.report.charts import Chart
from manip_dyn.studies.report.tables import Table, cell

STYLE = """
:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,-apple-system,Segoe UI,Roboto,sans-serif;max-width:75rem;
margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;font-size:13px;margin:.5rem 0 2rem}
td,th{border:1px solid #8886;padding:.2rem .5rem;text-align:left;vertical-align:top}
.table{overflow-x:auto}tr:nth-child(even){background:#8881}
figure{margin:1.5rem 0}img{max-width:100%;background:white}
.good{color:#1a7f37}.bad{color:#cf222e}.part{color:#9a6700}
@media(prefers-color-scheme:dark){.good{color:#57ab5a}.bad{color:#f47067}.part{color:#c69026}}
"""
PART = "part"
COLORS = (
    ("partly", PART),
    ("close", PART),
    ("confirmed", "good"),
    ("reproduced", "good"),
    ("as published", "good"),
    ("has its order", "good"),
    ("refuted", "bad"),
    ("differs", "bad"),
    ("missing", "bad"),
)
"""Words of a status and how they are coloured; several kinds in one status are mixed."""


def page(
    name: str,
    lines: Sequence[str],
    tables: Sequence[Table],
    pictures: Iterable[Chart],
    beside: str,
) -> str:
    """Return the page of a paper.

    Args:
        name: The paper.
        lines: What stands at the top.
        tables: Items, claims, published beside computed.
        pictures: What is drawn.
        beside: Folder of the pictures as seen from the page, with its slash; empty: the same.
    """
    parts = [f"<h1>{escape(name)}</h1>", *(f"<p>{escape(line)}</p>" for line in lines)]
    parts += [_table(each.title, each) for each in tables]
    parts += [_picture(each, beside) for each in pictures]
    return _document(name, parts)


def index(papers: Iterable[str]) -> str:
    """Return the page that leads to those of the papers."""
    rows = "".join(f'<li><a href="{name}.html">{escape(name)}</a></li>' for name in papers)
    return _document("Studies", ["<h1>Papers recomputed</h1>", f"<ul>{rows}</ul>"])


def write(path: Path, text: str) -> Path:
    """Write a page and return the file."""
    path.write_text(text, encoding="utf-8")
    return path


def _document(title: str, parts: Sequence[str]) -> str:
    head = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>"
    )
    return "\n".join([head, *parts, "</body></html>", ""])


def _table(title: str, table: Table) -> str:
    head = "".join(f"<th>{escape(each)}</th>" for each in table.head)
    rows = "".join(
        f"<tr>{''.join(_cell(cell(value, table.digits)) for value in row)}</tr>\n"
        for row in table.rows
    )
    body = f"<table><tr>{head}</tr>\n{rows}</table>"
    return f'<h2>{escape(title)}</h2>\n<div class="table">{body}</div>'


def _cell(text: str) -> str:
    plain = text.replace("**", "").replace("`", "")
    kinds = {kind for word, kind in COLORS if len(plain) < 90 and word in plain}
    kind = PART if len(kinds) > 1 else "".join(kinds)
    mark = f' class="{kind}"' if kind else ""
    return f"<td{mark}>{escape(plain)}</td>"


def _picture(chart: Chart, beside: str) -> str:
    title = escape(chart.title, quote=True)
    source = f"{beside}{chart.name}"
    return (
        f'<figure><a href="{source}.svg"><img src="{source}.png" alt="{title}" loading="lazy"></a>'
        f"<figcaption>{title}</figcaption></figure>"
    )
