"""Taylor series of the motion in C; the counterpart of `codegen.generation.taylor_series`."""

from __future__ import annotations

from typing import NamedTuple

from manip_dyn.codegen.backend.convolution import Factors
from manip_dyn.codegen.backend.statements import parsed
from manip_dyn.codegen.generation.kernel_source import trace
from manip_dyn.codegen.generation.taylor_recurrences import SeriesWriter
from manip_dyn.codegen.rigid_body.catalogue import BY_NAME
from manip_dyn.codegen.rigid_body.equations import Equations
from manip_dyn.export.c99.kernels import CWriter, Source, Style, head, unused


class Series(NamedTuple):
    """The passes of a Taylor series as straight-line programs.

    Attributes:
        n: Number of joints.
        first: Lines for all quantities of order 0.
        following: Lines for all quantities of order `order` >= 1.
        factors: Columns of the factors of products in a workspace row.
    """

    n: int
    first: list[str]
    following: list[str]
    factors: Factors


def series_of(equations: Equations) -> Series:
    """Return the passes for the motion of (q, v)."""
    writer = SeriesWriter(trace(equations, BY_NAME["motion"]), equations.n)
    return Series(equations.n, writer.first_lines(), writer.next_lines(), writer.factors)


TEXT = """\
static void {p}_taylor_first({real} *work)
{{
{first}
}}

static void {p}_taylor_sums({real} *work, int32_t order)
{{
    {real} *sums = &work[{sums}];
    int32_t i;
    int32_t j;

    for (i = 0; i < {products}; i++) {{
        sums[i] = {zero};
    }}
    for (j = 1; j < order; j++) {{
        const {real} *a = &work[(j * {width}) + {fa}];
        const {real} *b = &work[((order - j) * {width}) + {fb}];

        for (i = 0; i < {products}; i++) {{
            sums[i] += a[i] * b[i];
        }}
    }}
}}

static void {p}_taylor_next({input}start, {input}previous,
    {output}out, {real} degree)
{{
{next}
}}

{head}
{{
    int32_t i;
    int32_t k;

    for (i = 0; i < {n}; i++) {{
        work[i] = q[i];
        work[{n} + i] = v[i];
        for (k = 0; k < order; k++) {{
            work[(k * {width}) + {two_n} + i] = (k < rows) ? tau[(k * {n}) + i] : {zero};
        }}
        out[i] = q[i];
        if (order > 0) {{
            out[{n} + i] = v[i];
        }}
    }}
    if (order > 1) {{
        {p}_taylor_first(work);
    }}
    for (k = 1; k < (order - 1); k++) {{
        {p}_taylor_sums(work, k);
        {p}_taylor_next(work, &work[(k - 1) * {width}], &work[k * {width}], ({real})k);
    }}
    for (k = 2; k <= order; k++) {{
        for (i = 0; i < {n}; i++) {{
            out[(k * {n}) + i] = work[((k - 2) * {width}) + {four_n} + i]
                / ({real})(k * (k - 1));
        }}
    }}
}}
"""


def taylor_prototype(style: Style) -> str:
    """Return the C declarator of the series function."""
    arrays = [f"{style.input}{name}" for name in ("q", "v", "tau")]
    numbers = ["int32_t rows", "int32_t order"]
    outputs = [f"{style.output}{name}" for name in ("work", "out")]
    return head(f"void {style.prefix}_taylor", [*arrays, *numbers, *outputs])


def taylor_definition(style: Style, series: Series) -> Source:
    """Return the C definition of the series function."""
    literal, n = style.precision.literal, series.n
    names = {"order": "degree"}
    first = CWriter(style.prefix, style.precision, {})
    following = CWriter(style.prefix, style.precision, {}, names=names)
    passes = [[parsed(line) for line in _in_work(series.first)]]
    passes.append([parsed(line) for line in series.following])
    unread = [[], unused(passes[1], ("start", "previous"))]
    texts = [
        "\n".join(f"    {line}" for line in [*lines, *writer.lines(statements)])
        for writer, lines, statements in zip((first, following), unread, passes, strict=True)
    ]
    text = TEXT.format(
        p=style.prefix,
        real=style.precision.kind,
        input=style.input,
        output=style.output,
        head=taylor_prototype(style),
        first=texts[0],
        next=texts[1],
        zero=literal(0.0),
        n=n,
        two_n=2 * n,
        four_n=4 * n,
        width=series.factors.width,
        products=series.factors.products,
        fa=series.factors.first,
        fb=series.factors.last,
        sums=series.factors.sums,
    )
    return Source(text, frozenset(first.counts | following.counts))


def _in_work(lines: list[str]) -> list[str]:
    return [line.replace("out[", "work[") for line in lines]
