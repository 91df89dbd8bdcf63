"""The page of studies: it matches the stored runs, and cheap rows are reproduced."""

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

import pytest
from mutations import is_detected, mutations, stored_digests

import manip_dyn as md
from manip_dyn.cli import main
from manip_dyn.studies import PAPERS, galhano1994, paper, report
from manip_dyn.studies import page as studies_page

ROOT = Path(md.__file__).parents[1]
RUNS = ROOT / "docs" / "studies"
STUDIES = ROOT / "manip_dyn" / "studies"
pytestmark = pytest.mark.skipif(not RUNS.is_dir(), reason="not a checkout")


# ------------------------------------------------------------------ the stored page
def test_the_page_matches_the_stored_runs():
    page = (ROOT / "docs" / "studies.md").read_text(encoding="utf-8")
    assert studies_page.rendered(page, RUNS) == page, "run python -m manip_dyn.studies.page docs"


@pytest.mark.parametrize("name", PAPERS)
def test_a_stored_run_has_a_clean_commit_and_all_items(name):
    record = report.read_record(RUNS / f"{name}.json")
    assert record.paper == name
    assert not record.setting["commit"].endswith("-dirty")
    assert record.tables
    assert record.charts


@pytest.mark.parametrize("name", PAPERS)
def test_all_items_of_a_paper_have_a_status(name):
    record, items = report.read_record(RUNS / f"{name}.json"), report.read_items(STUDIES / name)
    assert items
    for item, row in zip(items, report.items_table(items, record).rows, strict=True):
        assert report.MISSING not in row[2], (item, row[2])
        tests = [name.partition("test: ")[2] for name in item.evidence if name[:6] == "test: "]
        assert [file for file in tests if not (ROOT / file).is_file()] == []
        if item.command:
            program, command, argument, item_name, *_ = item.command.split()
            assert (program, command, argument) == ("manip_dyn", "study", name)
            assert item_name in paper(name).ITEMS
    named = {reference for item in items for reference in item.evidence}
    published = json.loads((STUDIES / name / "published.json").read_text(encoding="utf-8"))
    assert {f"claim: {key}" for key in published.get("claims", {})} <= named


def quickly(settings):
    """Return settings with the compared motion and short timings."""
    return replace(settings, motions={"rr": settings.motions["rr"]}, repeats=1, slice=1e-6)


CHEAP = [
    ("fan2003", "section3.1.3"),
    ("fan2003", "section4.1"),
    ("galhano1994", "table1"),
    ("galhano1994", "fig7"),
    ("sariyildiz2011", "circles"),
]
"""Items that take about a second; for sandu2001 see `test_sandu2001`."""


@pytest.mark.parametrize(("name", "item"), CHEAP)
def test_cheap_rows_are_reproduced(name, item):
    settings = None
    if item == "fig7":
        settings = quickly(report.read_settings(name, galhano1994.Settings))
    findings = paper(name).recompute(item, settings).record(0.0)
    assert findings.tables
    assert report.stale(report.read_record(RUNS / f"{name}.json"), findings) == []


@pytest.mark.parametrize("name", PAPERS)
def test_a_stored_run_has_the_inputs_of_the_code(name):
    """Constants, published values, limits and settings are those of the stored run."""
    record = report.read_record(RUNS / f"{name}.json")
    current = report.input_digests(name, findings_of(name).inputs)
    changed = report.changed_inputs(record.inputs, current)
    assert changed == [], f"run manip_dyn study {name} --keep docs/studies"


def test_a_changed_number_of_an_input_is_detected():
    digests = stored_digests()
    assert [m[:3] for m in mutations(50, 0) if not is_detected(m, digests)] == []


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("a.py", '"""Doc."""\ndef f(x: int): return 1  # n\n', '"""T."""\ndef f(x):\n return 1\n'),
        ("a.yaml", "x: 1.0  # a note\ny: 2\n", "y: 2\nx: 1.0\n"),
        ("a.json", '{"x": 1, "y": [2]}', '{\n "y": [2],\n "x": 1}'),
        (
            "a.urdf",
            '<robot name="a"> <link name="b"/></robot>',
            '<robot name="a"><link name="b"/></robot>',
        ),
    ],
)
def test_a_digest_ignores_layout_and_comments(name, before, after):
    assert report.digest(name, before) == report.digest(name, after)
    assert report.digest(name, before) != report.digest(
        name, after.replace("b", "c").replace("1", "3")
    )


def findings_of(name):
    """Return the class of findings of a paper."""
    (kind,) = (
        kind
        for kind in vars(paper(name)).values()
        if isinstance(kind, type) and issubclass(kind, report.Findings)
    )
    return kind


# ----------------------------------------------------------------- records and pages
@dataclass(frozen=True)
class Example(report.Findings):
    paper = "nobody1900"
    published = MappingProxyType(
        {
            "source": "Anonymous (1900)",
            "claims": {"rises": "it <rises>", "falls": "it falls", "open": "it depends"},
            "not_reproducible": {"open": "on what is not printed"},
        }
    )

    value: float = 1.0
    seconds: float = 1.0
    claims: tuple[report.Claim, ...] = ()

    def paragraphs(self):
        yield ""

    def values(self):
        return {}

    def csv_tables(self):
        rows = (("a", self.value, "reproduced", self.seconds), ("b", 2.0, "differs", 3.0))
        head = ("case", "value", "status", "CPU s")
        yield report.Table("numbers", "A table", head, rows, timed=("CPU s",))
        yield report.Table("long", "Too long for a page", ("k",), tuple((k,) for k in range(500)))

    def pictures(self):
        panel = report.Panel("", "x", "y", (report.Line("", (0.0, 1.0), (0.0, 1.0)),))
        yield report.Chart("curve", 'A "curve"', (panel,), 1, (2.0, 2.0))


def claim(key, *holds, number=1.5, counted=""):
    cases = tuple(report.Evidence(f"{k}", number, h) for k, h in enumerate(holds))
    return report.Claim(key, "ratio; above 1", cases, counted=counted)


@pytest.fixture
def findings():
    falls = report.with_alternatives(claim("falls", False, False), [claim("falls", True, False)])
    return Example({"commit": "abc"}, claims=(claim("rises", True, True), falls))


@pytest.fixture
def record(findings, tmp_path):
    return report.read_record(findings.record(12.0).keep(tmp_path))


def test_a_stored_run_contains_the_findings(record, findings):
    assert list(record.tables) == ["numbers"]
    assert record.tables["numbers"].rows == (("a", 1, "reproduced", 1), ("b", 2, "differs", 3))
    assert record.charts == ["curve"]
    assert [row["verdict"] for row in record.claims] == [
        "confirmed",
        "refuted (partly confirmed with times 10% off)",
        "not reproducible",
    ]
    assert report.stale(record, findings.record(1.0)) == []


@pytest.mark.parametrize(
    ("change", "missing"),
    [
        ({"value": 1.001}, 0),  # the last digits
        ({"value": 1.1}, 1),
        ({"seconds": 9.0}, 0),  # a time
        ({"claims": (claim("rises", True, False),)}, 1),
        (
            {"claims": (report.with_alternatives(claim("falls", True), []),)},
            0,
        ),  # judged in seconds
    ],
)
def test_a_row_that_is_not_reproduced_is_stale(record, findings, change, missing):
    now = Example(findings.setting, **({"claims": findings.claims} | change))
    assert len(report.stale(record, now.record(1.0))) == missing


@pytest.mark.parametrize(("holds", "missing"), [(True, 0), (False, 1)])
def test_claims_about_steps_at_the_limit_of_stability_are_compared_by_verdict(
    findings, holds, missing
):
    """Their numbers vary by percents with the rounding errors of another BLAS."""
    first, second = (
        replace(
            findings, claims=(claim("rises", *cases, number=number, counted=report.AT_THE_LIMIT),)
        )
        for number, cases in ((1.04, [True]), (0.96, [holds]))
    )
    assert len(report.stale(first.record(1.0), second.record(1.0))) == missing


def test_a_page_shows_tables_and_claims(record):
    assert (
        report.markdown(record.tables["numbers"]).splitlines()[2] == "| a | 1 | reproduced | 1 |"
    )
    text = report.claims_markdown(record)
    assert "| **it <rises>** | ratio; above 1 | 1.5 (1.5 to 1.5) | 100% of 2 | confirmed |" in text
    assert "ratio; above 1 (in seconds)" in text
    assert "on what is not printed | - | - | not reproducible |" in text


def test_sections_are_inserted_into_a_page(findings, tmp_path):
    findings.record(12.0).keep(tmp_path)
    page = "words\n<!-- study nobody1900 numbers -->\nold\n<!-- end -->\nmore\n"
    new = studies_page.rendered(page, tmp_path)
    assert "| a | 1 | reproduced | 1 |" in new
    assert "old" not in new
    assert studies_page.rendered(new, tmp_path) == new
    with pytest.raises(md.ManipDynError, match="has no table 'number'; did you mean 'numbers'"):
        studies_page.rendered(page.replace("numbers", "number"), tmp_path)
    with pytest.raises(md.ManipDynError, match="must be a stored run"):
        studies_page.rendered(page.replace("nobody1900", "nobody1901"), tmp_path)


def test_items_have_the_status_of_their_evidence(record):
    items = [
        report.Item("Table 1", "", "", ("numbers: a", "numbers: ")),
        report.Item("Figure 1", "", "", ("chart: curve",)),
        report.Item("Claim", "", "", ("claim: rises",)),
        report.Item("Figure 2", "", "", ("chart: other",)),
        report.Item("Section 1", "", "", (), "no result"),
    ]
    statuses = [row[2] for row in report.items_table(items, record).rows]
    assert statuses == [
        "reproduced; 1 \u00d7 reproduced, 1 \u00d7 differs",
        "plotted",
        "confirmed",
        "missing",
        "no result",
    ]


def test_an_html_page_escapes_text(findings, record):
    tables = (report.claims_page_table(record.claims), record.tables["numbers"])
    page = report.html_page("nobody1900", ["<source>"], tables, findings.pictures(), "there/")
    assert "<p>&lt;source&gt;</p>" in page
    assert "<b>it &lt;rises&gt;</b>" in page
    assert '<img src="there/curve.png" alt="A &quot;curve&quot;"' in page
    assert '<span class="good">reproduced</span>' in page
    assert '<span class="part">refuted (partly confirmed with times 10% off)</span>' in page
    assert '<td class="n">2</td>' in page
    assert page.count("<table>") == page.count("</table>") == 2


def test_evidence_links_to_tables_and_charts(findings, record):
    evidence = ("numbers: a", "numbers: ", "chart: curve", "claim: rises", "test: test/x.py")
    table = report.items_table([report.Item("All", "", "", evidence)], record)
    texts = ("table numbers, a", "table numbers", "chart curve", "claim rises", "test/x.py")
    assert table.rows[0][3] == texts
    tables = (report.claims_page_table(record.claims), record.tables["numbers"], table)
    page = report.html_page("nobody1900", [], tables, findings.pictures(), "")
    for target, text in (("table-numbers", texts[0]), ("chart-curve", texts[2])):
        assert f'<a href="#{target}">{text}</a>' in page
    targets = set(re.findall(r'id="([^"]+)"', page))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= targets
    assert "; test/x.py</td>" in page


def test_every_single_status_has_its_kind():
    joined = report.counted(["reproduced", "arrives, not at the printed time", "reproduced"])
    assert report.parts(f"{joined}; plotted") == [
        "2 \u00d7 reproduced",
        "1 \u00d7 arrives, not at the printed time",
        "plotted",
    ]
    kinds = [
        report.kind_of(status) for status in report.parts(f"{joined}; plotted; above; not above")
    ]
    assert kinds == ["good", "part", "", "bad", "good"]


# ------------------------------------------------------------------------ the command
def test_an_item_of_all_papers_is_rejected(capsys):
    assert main(["study", "all", "table1"]) == 2
    assert "'all' papers requires all items, got 'table1'" in capsys.readouterr().err
    assert main(["study", "galhano1994", "table1", "--keep", "x"]) == 2
    assert "--keep requires all items, got 'table1'" in capsys.readouterr().err


def test_all_papers_have_a_page(monkeypatch, tmp_path, capsys, findings):
    class Stub:
        """Stand-in for all four papers, whose files are written four times."""

        ITEMS = ("all",)

        @staticmethod
        def recompute(item, progress):
            return findings

    monkeypatch.setattr("manip_dyn.studies.papers.paper", lambda name: Stub)
    out, stored = tmp_path / "pages", tmp_path / "stored"
    assert main(["study", "all", "--json", "--out", str(out), "--keep", str(stored)]) == 0
    assert list(json.loads(capsys.readouterr().out)) == list(PAPERS)
    assert {path.name for path in out.iterdir()} == {"index.html", "nobody1900.html", "nobody1900"}
    assert (out / "nobody1900" / "curve.svg").exists()
    index = (out / "index.html").read_text()
    assert all(f'href="{name}.html"' in index for name in PAPERS)
    assert report.read_record(stored / "nobody1900.json").paper == "nobody1900"
