"""The table of methods for people, from the registry: ``python -m manip_dyn.integrate.page``."""

from __future__ import annotations

from manip_dyn.integrate.method import Method
from manip_dyn.integrate.registry import METHODS

_HEAD = ("method", "order", "compared with", "evaluations", "FSAL", "dense", "stable to", "source")


def method_table() -> str:
    """Return the table as Markdown, one row per method, without aliases."""
    rows = [_HEAD, ("---",) * len(_HEAD)]
    rows += [_row(method) for name, method in METHODS.items() if name == method.name]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def _row(method: Method) -> tuple[str, ...]:
    interval = method.stability_interval
    return (
        f"`{method.name}`",
        _number(method.order, "any"),
        _number(method.embedded_order, ""),
        str(method.stages),
        "yes" if method.fsal else "",
        _number(method.dense_order, "any"),
        "" if interval is None else f"{interval:.2f}",
        _source(method),
    )


def _number(value: int | None, otherwise: str) -> str:
    return otherwise if value is None else str(value)


def _source(method: Method) -> str:
    constructed = method.source.startswith("CONSTRUCTED")
    return "constructed with the stages of Butcher (1987)" if constructed else method.source


if __name__ == "__main__":
    print(method_table(), end="")
