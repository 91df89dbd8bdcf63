"""The page of studies is what the kept runs say, and cheap rows come out again."""

import json
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

import pytest

import manip_dyn as md
from manip_dyn.cli import main
from manip_dyn.core.errors import ManipDynError
from manip_dyn.studies import PAPERS, paper
from manip_dyn.studies.galhano1994.settings import Settings as GalhanoSettings
from manip_dyn.studies.page import rendered
from manip_dyn.studies.report import pages as html
from manip_dyn.studies.report.charts import Chart, Line, Panel
from manip_dyn.studies.report.claims import (
    AT_THE_LIMIT,
    Claim,
    Evidence,
    counted,
    kind_of,
    parts,
    with_alternatives,
)
from manip_dyn.studies.report.findings import (
    MISSING,
    Findings,
    Item,
    items_table,
    read_items,
    read_record,
    stale,
)
from manip_dyn.studies.report.pages import claims_markdown, claims_page_table, markdown
from manip_dyn.studies.report.settings import read_settings
from manip_dyn.studies.report.tables import Table

ROOT = Path(md.__file__).parents[1]
RUNS = ROOT / "docs" / "studies"
STUDIES = ROOT / "manip_dyn" / "studies"
pytestmark = pytest.mark.skipif(not RUNS.is_dir(), reason="not a checkout")


# ----------------------------------------------------------------- the page as it is
def test_the_page_is_what_the_kept_runs_say():
    page = (ROOT / "docs" / "studies.md").read_text(encoding="utf-8")
    assert rendered(page, RUNS) == page, "run python -m manip_dyn.studies.page docs"


@pytest.mark.parametrize("name", PAPERS)
def test_a_kept_run_is_of_a_clean_commit_and_all_items(name):
    record = read_record(RUNS / f"{name}.json")
    assert record.paper == name
    assert not record.setting["commit"].endswith("-dirty")
    assert record.tables
    assert record.charts


@pytest.mark.parametrize("name", PAPERS)
def test_nothing_of_a_paper_is_missing(name):
    record, items = read_record(RUNS / f"{name}.json"), read_items(STUDIES / name)
    assert items
    for item, row in zip(items, items_table(items, record).rows, strict=True):
        assert MISSING not in row[2], (item, row[2])
        told = [each.removeprefix("test: ") for each in item.evidence if each.startswith("test: ")]
        assert [file for file in told if not (ROOT / file).is_file()] == []
        if item.command:
            command, study, study_of, wanted, *_ = item.command.split()
            assert (command, study, study_of) == ("manip_dyn", "study", name)
            assert wanted in paper(name).ITEMS
    named = {reference for each in items for reference in each.evidence}
    published = json.loads((STUDIES / name / "published.json").read_text(encoding="utf-8"))
    assert {f"claim: {key}" for key in published.get("claims", {})} <= named


def quickly(settings):
    """Return settings that take what is compared, and no time for times."""
    return replace(settings, motions={"rr": settings.motions["rr"]}, repeats=1, slice=1e-6)


CHEAP = [
    ("fan2003", "section3.1.3"),
    ("fan2003", "section4.1"),
    ("galhano1994", "table1"),
    ("galhano1994", "fig7"),
    ("sariyildiz2011", "circles"),
]
"""Items that take a second or two; for sandu2001 see `test_sandu2001`."""


@pytest.mark.parametrize(("name", "item"), CHEAP)
def test_cheap_rows_come_out_again(name, item):
    settings = None
    if item == "fig7":
        settings = quickly(read_settings(name, GalhanoSettings))
    found = paper(name).recompute(item, settings).record(0.0)
    assert found.tables
    assert stale(read_record(RUNS / f"{name}.json"), found) == []


# -------------------------------------------------------------- what the machinery does
@dataclass(frozen=True)
class Found(Findings):
    paper = "nobody1900"
    published = MappingProxyType(
        {
            "source": "Nobody (1900)",
            "claims": {"rises": "it <rises>", "falls": "it falls", "open": "it depends"},
            "not_reproducible": {"open": "on what is not printed"},
        }
    )

    value: float = 1.0
    seconds: float = 1.0
    claims: tuple[Claim, ...] = ()

    def paragraphs(self):
        yield ""

    def values(self):
        return {}

    def csv_tables(self):
        rows = (("a", self.value, "reproduced", self.seconds), ("b", 2.0, "differs", 3.0))
        head = ("case", "value", "status", "CPU s")
        yield Table("numbers", "A table", head, rows, timed=("CPU s",))
        yield Table("long", "Too long for a page", ("k",), tuple((k,) for k in range(500)))

    def pictures(self):
        panel = Panel("", "x", "y", (Line("", (0.0, 1.0), (0.0, 1.0)),))
        yield Chart("curve", 'A "curve"', (panel,), 1, (2.0, 2.0))


def claim(key, *holds, number=1.5, counted=""):
    cases = tuple(Evidence(f"{k}", number, h) for k, h in enumerate(holds))
    return Claim(key, "ratio; above 1", cases, counted=counted)


@pytest.fixture
def found():
    falls = with_alternatives(claim("falls", False, False), [claim("falls", True, False)])
    return Found({"commit": "abc"}, claims=(claim("rises", True, True), falls))


@pytest.fixture
def record(found, tmp_path):
    return read_record(found.record(12.0).keep(tmp_path))


def test_a_kept_run_has_what_was_found(record, found):
    assert list(record.tables) == ["numbers"]
    assert record.tables["numbers"].rows == (("a", 1, "reproduced", 1), ("b", 2, "differs", 3))
    assert record.charts == ["curve"]
    assert [each["verdict"] for each in record.claims] == [
        "confirmed",
        "refuted (partly confirmed with times 10% off)",
        "not reproducible",
    ]
    assert stale(record, found.record(1.0)) == []


@pytest.mark.parametrize(
    ("change", "missing"),
    [
        ({"value": 1.001}, 0),  # the last digits
        ({"value": 1.1}, 1),
        ({"seconds": 9.0}, 0),  # a time
        ({"claims": (claim("rises", True, False),)}, 1),
        ({"claims": (with_alternatives(claim("falls", True), []),)}, 0),  # judged in seconds
    ],
)
def test_a_row_that_no_longer_comes_out_is_stale(record, found, change, missing):
    now = Found(found.setting, **({"claims": found.claims} | change))
    assert len(stale(record, now.record(1.0))) == missing


@pytest.mark.parametrize(("holds", "missing"), [(True, 0), (False, 1)])
def test_of_steps_at_the_limit_of_stability_only_the_verdict_comes_out(found, holds, missing):
    """Their number moves by percents with the last bits, which another BLAS has others of."""
    one, other = (
        replace(found, claims=(claim("rises", *each, number=number, counted=AT_THE_LIMIT),))
        for number, each in ((1.04, [True]), (0.96, [holds]))
    )
    assert len(stale(one.record(1.0), other.record(1.0))) == missing


def test_a_page_shows_tables_and_claims(record):
    assert markdown(record.tables["numbers"]).splitlines()[2] == "| a | 1 | reproduced | 1 |"
    told = claims_markdown(record)
    assert "| **it <rises>** | ratio; above 1 | 1.5 (1.5 to 1.5) | 100% of 2 | confirmed |" in told
    assert "ratio; above 1 (in seconds)" in told
    assert "on what is not printed | - | - | not reproducible |" in told


def test_places_of_a_page_are_filled(found, tmp_path):
    found.record(12.0).keep(tmp_path)
    page = "words\n<!-- study nobody1900 numbers -->\nold\n<!-- end -->\nmore\n"
    new = rendered(page, tmp_path)
    assert "| a | 1 | reproduced | 1 |" in new
    assert "old" not in new
    assert rendered(new, tmp_path) == new
    with pytest.raises(ManipDynError, match="has no table 'number'; did you mean 'numbers'"):
        rendered(page.replace("numbers", "number"), tmp_path)
    with pytest.raises(ManipDynError, match="is no kept run"):
        rendered(page.replace("nobody1900", "nobody1901"), tmp_path)


def test_items_have_the_status_of_their_evidence(record):
    items = [
        Item("Table 1", "", "", ("numbers: a", "numbers: ")),
        Item("Figure 1", "", "", ("chart: curve",)),
        Item("Claim", "", "", ("claim: rises",)),
        Item("Figure 2", "", "", ("chart: other",)),
        Item("Section 1", "", "", (), "no result"),
    ]
    statuses = [row[2] for row in items_table(items, record).rows]
    assert statuses == [
        "reproduced; 1 \u00d7 reproduced, 1 \u00d7 differs",
        "drawn",
        "confirmed",
        "missing",
        "no result",
    ]


def test_a_page_of_html_has_everything_and_escapes_it(found, record):
    tables = (claims_page_table(record.claims), record.tables["numbers"])
    page = html.html_page("nobody1900", ["<source>"], tables, found.pictures(), "there/")
    assert "<p>&lt;source&gt;</p>" in page
    assert "<b>it &lt;rises&gt;</b>" in page
    assert '<img src="there/curve.png" alt="A &quot;curve&quot;"' in page
    assert '<span class="good">reproduced</span>' in page
    assert '<span class="part">refuted (partly confirmed with times 10% off)</span>' in page
    assert '<td class="n">2</td>' in page
    assert page.count("<table>") == page.count("</table>") == 2


def test_evidence_says_where_it_stands_and_leads_there(found, record):
    evidence = ("numbers: a", "numbers: ", "chart: curve", "claim: rises", "test: test/x.py")
    table = items_table([Item("All", "", "", evidence)], record)
    told = ("table numbers, a", "table numbers", "chart curve", "claim rises", "test/x.py")
    assert table.rows[0][3] == told
    tables = (claims_page_table(record.claims), record.tables["numbers"], table)
    page = html.html_page("nobody1900", [], tables, found.pictures(), "")
    for place, text in (("table-numbers", told[0]), ("chart-curve", told[2])):
        assert f'<a href="#{place}">{text}</a>' in page
    targets = set(re.findall(r'id="([^"]+)"', page))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= targets
    assert "; test/x.py</td>" in page


def test_each_part_of_a_status_has_its_kind():
    joined = counted(["reproduced", "arrives, not at the printed time", "reproduced"])
    assert parts(f"{joined}; drawn") == [
        "2 \u00d7 reproduced",
        "1 \u00d7 arrives, not at the printed time",
        "drawn",
    ]
    kinds = [kind_of(each) for each in parts(f"{joined}; drawn; above; not above")]
    assert kinds == ["good", "part", "", "bad", "good"]


# ------------------------------------------------------------------------ the command
def test_one_item_of_all_papers_is_refused(capsys):
    assert main(["study", "all", "table1"]) == 2
    assert "all papers are recomputed with all items; 'table1' is one" in capsys.readouterr().err
    assert main(["study", "galhano1994", "table1", "--keep", "x"]) == 2
    assert "a run is kept with all items" in capsys.readouterr().err


def test_all_papers_get_a_page_each(monkeypatch, tmp_path, capsys, found):
    class Stub:
        """All four are the same paper here, so that its files are written four times."""

        ITEMS = ("all",)

        @staticmethod
        def recompute(item, progress):
            return found

    module = sys.modules["manip_dyn.studies.papers"]  # the package has a function of that name
    monkeypatch.setattr(module, "paper", lambda name: Stub)
    out, kept = tmp_path / "pages", tmp_path / "kept"
    assert main(["study", "all", "--json", "--out", str(out), "--keep", str(kept)]) == 0
    assert list(json.loads(capsys.readouterr().out)) == list(PAPERS)
    assert {path.name for path in out.iterdir()} == {"index.html", "nobody1900.html", "nobody1900"}
    assert (out / "nobody1900" / "curve.svg").exists()
    index = (out / "index.html").read_text()
    assert all(f'href="{name}.html"' in index for name in PAPERS)
    assert read_record(kept / "nobody1900.json").paper == "nobody1900"
