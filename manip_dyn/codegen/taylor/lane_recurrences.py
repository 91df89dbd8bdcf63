"""The same recurrences for many motions side by side, a motion in each SIMD lane.

Every quantity that a product looks back at has one column, whichever products it is a factor of.
What does not change with time, efforts and inertial parameters, is in no recurrence.
"""

from __future__ import annotations

from typing import NamedTuple

from manip_dyn.codegen.programs.emit import operand_text
from manip_dyn.codegen.programs.trace import Function
from manip_dyn.codegen.taylor.recurrences import SeriesWriter


class LaneColumns(NamedTuple):
    """Where everything of a series lies.

    Attributes:
        width: Columns of a row, one row per coefficient; the state has the first.
        fixed: Columns of what there is once.
        sums: The first of them with the sum of a product; the others follow.
        products: Columns of the factors of each product.
    """

    width: int
    fixed: int
    sums: int
    products: tuple[tuple[int, int], ...]


class LaneSeriesWriter(SeriesWriter):
    """Writes the passes of a series whose quantities are vectors, a number for each motion.

    In their lines ``out``, ``previous`` and ``start`` are this row, the one before and the first;
    ``fixed`` is what there is once, and ``sums[i]`` the sum of product i.

    Attributes:
        columns: Where everything lies.
    """

    def __init__(self, function: Function, n: int):
        """Take the graph of the rate of a state y under efforts and parameters that are held."""
        super().__init__(function, n, function.declaration.arguments[1:])

    def _lay_out(self, size: int, n: int) -> None:
        self._states = {
            place: self._array_and_index(place)[1]
            for place in self._order
            if place not in self._still and self._operations[place].kind == "input"
        }
        rates = [i for i in range(size) if self._entries[i][1].place not in self._states]
        self._rate_columns = {i: size + k for k, i in enumerate(rates)}
        width = size + len(rates)
        for place, i in self._states.items():
            self._columns[f"x{place}"] = [i]
        for product in self._products:
            for name in product:
                if name not in self._columns:
                    self._columns[name] = [width]
                    width += 1
        self._constants = self._still_factors()
        count = len(self._divisors) + len(self._constants)
        products = tuple(
            (self._columns[first][0], self._columns[last][0]) for first, last in self._products
        )
        self.columns = LaneColumns(width, max(count + len(products), 1), count, products)

    def _still_factors(self) -> list[int]:
        """Return the places of computed factors that do not change with time."""
        found: dict[int, None] = {}
        for place in self._order:
            kind, operands, _ = self._operations[place]
            if kind == "multiply" and place not in self._still:
                found |= {each: None for each in operands if each in self._still}
        return [place for place in found if self._operations[place].kind != "input"]

    def first_lines(self) -> list[str]:
        """Return the assignments that make all quantities from y and what is held."""
        lines = super().first_lines()
        first = len(self._divisors)
        lines += [f"fixed[{first + i}] = x{place}" for i, place in enumerate(self._constants)]
        return lines

    def state_lines(self) -> list[str]:
        """Return the assignments that make the coefficients of the state alone."""
        lines = ["reciprocal = 1.0 / order"]
        for i, (_, value) in enumerate(self._entries):
            column = self._rate_columns.get(i, self._states.get(value.place))
            sign = "-" if value.negative and i not in self._rate_columns else ""
            lines += [f"y{i} = {sign}previous[{column}] * reciprocal", f"out[{i}] = y{i}"]
        return lines

    def _kept(self, name: str, most: int | None = None) -> list[str]:
        """Return nothing for coefficients of the state, which are kept as they are made."""
        made = most is None and name in {f"x{place}" for place in self._states}
        return [] if made else super()._kept(name, most)

    def _rates(self, first: bool = False) -> list[str]:
        lines = []
        for i, column in self._rate_columns.items():
            _, value = self._entries[i]
            text = f"{'-' if value.negative else ''}{operand_text(self._operations, value.place)}"
            lines.append(
                f"out[{column}] = {text if first or value.place not in self._still else 0.0}"
            )
        return lines

    def _input(self, place: int) -> str:
        """Return the input itself in the first pass, and in others what its pass has made."""
        return str(self._operations[place].value)

    def _coefficient(self, place: int) -> str:
        if place in self._states:
            super()._coefficient(place)  # notes its depth
            return f"y{self._states[place]}"
        return super()._coefficient(place)

    def _sum(self, first: str, last: str) -> str:
        return f"sums[{self._products.index((first, last))}]"

    def _reciprocal(self, divisor: int, row: str = "start") -> str:
        return f"fixed[{self._divisors.index(divisor)}]"

    def _factor(self, place: int) -> str:
        operation = self._operations[place]
        if place not in self._still:
            return operand_text(self._operations, place)
        if operation.kind == "input":
            return str(operation.value)
        return f"fixed[{len(self._divisors) + self._constants.index(place)}]"
