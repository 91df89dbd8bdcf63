"""Pages of a study: tables and claims as Markdown, and HTML pages with pictures."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from manip_dyn.studies.report.charts import Chart
from manip_dyn.studies.report.claims import kind_of, parts
from manip_dyn.studies.report.findings import Record
from manip_dyn.studies.report.tables import EVIDENCE, Table, cell

CLAIM_HEAD = ("claim of the paper", "measure", "median (least to most)", "cases", "verdict")


def markdown(table: Table) -> str:
    """Return a table as Markdown."""
    return _grid(table.head, [[cell(value, table.digits) for value in row] for row in table.rows])


def claims_markdown(record: Record) -> str:
    """Return the claims of a run as a Markdown table, or a sentence if there are no claims."""
    if not record.claims:
        return "The stored run has no claims of this paper.\n"
    return markdown(claims_page_table(record.claims))


def claims_page_table(claims: Sequence[Mapping[str, Any]]) -> Table:
    """Return the claims of a record as a table; a repeated sentence is replaced by ``...``."""
    rows, previous = [], None
    for claim in claims:
        about = f"{claim['about']}: " if claim.get("about") else ""
        counted = f" (in {claim['counted']})" if claim.get("counted") else ""
        sentence = f"**{claim['published']}**" if claim["published"] != previous else "..."
        previous = claim["published"]
        numbers = "-"
        if claim["cases"]:
            numbers = f"{cell(claim['number'])} ({cell(claim['least'])} to {cell(claim['most'])})"
        cases = f"{claim['share']:.0%} of {claim['cases']}" if claim["cases"] else "-"
        rows.append(
            (sentence, f"{about}{claim['measure']}{counted}", numbers, cases, claim["verdict"])
        )
    return Table("claims", "The claims and their verdicts", CLAIM_HEAD, tuple(rows))


def setting_text(record: Record) -> str:
    """Return a sentence with date, computing time, commit, processor and versions of a run."""
    setting = ", ".join(f"{key} {value}" for key, value in record.setting.items())
    return f"Run of {record.date}, {record.seconds:.0f} s of computing time; {setting}."


def _grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    escaped = ([text.replace("|", "\\|") for text in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in escaped) + "\n"


# -------------------------------------------------------------------------------------- HTML
STYLE = """
:root{color-scheme:light dark;--line:#8884;--good:#1a7f37;--bad:#cf222e;--part:#9a6700;
--open:#656d76}
@media(prefers-color-scheme:dark){
:root{--good:#57ab5a;--bad:#f47067;--part:#c69026;--open:#909dab}}
body{font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;
max-width:78rem;margin:2rem auto;padding:0 1rem}
h1{margin-bottom:0}h2{margin-top:3rem;border-bottom:1px solid var(--line)}
h3{font-size:1rem;margin:2rem 0 .4rem}h3 small{font-weight:normal;opacity:.75;margin-left:.6em}
nav{font-size:13px}nav a{margin-right:1em;white-space:nowrap}
table{border-collapse:collapse;font-size:12.5px;line-height:1.4;margin:.4rem 0 1rem}
td,th{border:1px solid var(--line);padding:.15rem .45rem;text-align:left;vertical-align:top}
th{background:#8882;vertical-align:bottom}
td.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
td.s,td span{white-space:nowrap}td code{font-size:11.5px}
.table{overflow-x:auto}tr:nth-child(even) td{background:#8881}
figure{margin:1.5rem 0;max-width:60rem}img{max-width:100%;height:auto;background:white}
figcaption{font-size:13px}figcaption b{margin-right:.5em}
.good{color:var(--good)}.bad{color:var(--bad)}.part{color:var(--part)}.open{color:var(--open)}
.good::before{content:"\\2713\\a0"}.bad::before{content:"\\2717\\a0"}
.part::before{content:"\\25d0\\a0"}.open::before{content:"\\2013\\a0"}
@media(max-width:40rem){body{margin:1rem auto;padding:0 .6rem}table{font-size:12px}}
@media print{.table{overflow:visible}table{font-size:8px}nav{display:none}
tr,figure{break-inside:avoid}}
"""
SHORT = 24
"""Number of characters below which the text of a cell is not wrapped."""


def html_page(
    name: str,
    lines: Sequence[str],
    tables: Sequence[Table],
    pictures: Iterable[Chart],
    folder: str,
) -> str:
    """Return the HTML page of a paper.

    Args:
        name: Name of the paper.
        lines: Lines below the title.
        tables: Tables of claims, of published and computed values, and of items.
        pictures: Charts of the paper.
        folder: Picture folder relative to the page, with a trailing slash, or "".
    """
    charts = list(pictures)
    names = {f"table {item.name}" for item in tables} | {f"chart {item.name}" for item in charts}
    pages = [f"<h1>{escape(name)}</h1>", *(f"<p>{escape(line)}</p>" for line in lines)]
    pages += [_contents(tables, charts)]
    claims = [table for table in tables if table.name == "claims"]
    results = [table for table in tables if table.name != "claims"]
    sections = {
        "Claims": [_table(table, names) for table in claims],
        "Figures": [_picture(chart, folder) for chart in charts],
        "Tables": [_table(table, names) for table in results],
    }
    for title, blocks in sections.items():
        pages += [f"<h2>{title}</h2>", *blocks] if blocks else []
    return _document(name, pages)


def html_index(papers: Mapping[str, str]) -> str:
    """Return an HTML page with links to the papers; `papers` maps names to sources."""
    rows = "".join(
        f'<li><a href="{name}.html">{escape(name)}</a>: {escape(source)}</li>'
        for name, source in papers.items()
    )
    return _document("Studies", ["<h1>Papers recomputed</h1>", f"<ul>{rows}</ul>"])


def write_html(path: Path, text: str) -> Path:
    """Write a page and return the file path."""
    path.write_text(text, encoding="utf-8")
    return path


def _document(title: str, sections: Sequence[str]) -> str:
    head = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>"
    )
    return "\n".join([head, *sections, "</body></html>", ""])


def _contents(tables: Sequence[Table], charts: Sequence[Chart]) -> str:
    links = [
        *(_link("chart", chart.name, chart.name) for chart in charts),
        *(_link("table", table.name, table.name) for table in tables),
    ]
    return f"<nav>{' '.join(links)}</nav>"


def _link(kind: str, name: str, text: str) -> str:
    return f'<a href="#{kind}-{escape(name, quote=True)}">{escape(text)}</a>'


# ---------------------------------------------------------------------------- tables
def _table(table: Table, names: Collection[str]) -> str:
    head = "".join(f"<th>{escape(column.replace('_', ' '))}</th>" for column in table.head)
    rows = "".join(
        "<tr>"
        + "".join(
            _cell(column, value, table.digits, names)
            for column, value in zip(table.head, row, strict=True)
        )
        + "</tr>\n"
        for row in table.rows
    )
    name = escape(table.name, quote=True)
    title = f'<h3 id="table-{name}">{escape(table.title)}<small>{name}</small></h3>'
    return f'{title}\n<div class="table"><table><tr>{head}</tr>\n{rows}</table></div>'


def _cell(column: str, value: Any, digits: int, names: Collection[str]) -> str:
    if column == EVIDENCE:
        return f"<td>{'; '.join(_linked(reference, names) for reference in value) or '-'}</td>"
    text = cell(value, digits)
    if column in ("status", "verdict"):
        return f"<td>{_status(text)}</td>"
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    kind = "n" if number or text == "-" else "s" if len(text) < SHORT else ""
    return f'<td class="{kind}">{_marked(text)}</td>' if kind else f"<td>{_marked(text)}</td>"


def _status(text: str) -> str:
    """Return the statuses in a string as HTML. The kind of each determines colour and sign."""
    spans = []
    for part in parts(text):
        kind = kind_of(part)
        spans.append(f'<span class="{kind}">{escape(part)}</span>' if kind else escape(part))
    return "<br>".join(spans)


def _linked(evidence: str, names: Collection[str]) -> str:
    """Return a reference as HTML, with a link if its table or chart is on the page."""
    if evidence.startswith("claim "):
        return _link("table", "claims", evidence)
    target = evidence.split(", ")[0]
    kind, _, name = target.partition(" ")
    return _link(kind, name, evidence) if target in names else escape(evidence)


def _marked(text: str) -> str:
    """Convert the Markdown markers ** and ` in a text to HTML."""
    plain = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", escape(text))
    return re.sub(r"`(.+?)`", r"<code>\1</code>", plain)


# -------------------------------------------------------------------------- pictures
def _picture(chart: Chart, folder: str) -> str:
    title, name = escape(chart.title, quote=True), escape(chart.name, quote=True)
    source = f"{folder}{chart.name}"
    return (
        f'<figure id="chart-{name}"><a href="{source}.svg"><img src="{source}.png" alt="{title}" '
        f'loading="lazy"></a><figcaption><b>{name}</b>{title}</figcaption></figure>'
    )
