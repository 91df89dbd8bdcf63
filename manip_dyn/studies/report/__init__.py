"""Code shared by all studies: settings, claims, tables, charts, findings, pages."""

from manip_dyn.studies.report.charts import Chart, Line, Panel, draw
from manip_dyn.studies.report.claims import (
    AT_THE_LIMIT,
    SECONDS,
    Claim,
    Evidence,
    claims_table,
    claims_text,
    counted,
    kind_of,
    parts,
    with_alternatives,
)
from manip_dyn.studies.report.findings import (
    MISSING,
    Findings,
    Item,
    Record,
    items_table,
    read_items,
    read_record,
    stale,
)
from manip_dyn.studies.report.pages import (
    claims_markdown,
    claims_page_table,
    html_page,
    markdown,
)
from manip_dyn.studies.report.settings import (
    check_names,
    checked,
    list_of,
    positive_integer,
    read_settings,
    records_by_name,
    settings_file,
)
from manip_dyn.studies.report.tables import Table, columns

__all__ = [
    "AT_THE_LIMIT",
    "MISSING",
    "SECONDS",
    "Chart",
    "Claim",
    "Evidence",
    "Findings",
    "Item",
    "Line",
    "Panel",
    "Record",
    "Table",
    "check_names",
    "checked",
    "claims_markdown",
    "claims_page_table",
    "claims_table",
    "claims_text",
    "columns",
    "counted",
    "draw",
    "html_page",
    "items_table",
    "kind_of",
    "list_of",
    "markdown",
    "parts",
    "positive_integer",
    "read_items",
    "read_record",
    "read_settings",
    "records_by_name",
    "settings_file",
    "stale",
    "with_alternatives",
]
