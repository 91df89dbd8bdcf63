"""Recurrences for Taylor coefficients, written operation by operation from a graph.

With a_k for coefficient k: (a b)_k = sum a_j b_(k-j); q = a / b: q_k = (a_k - sum' b_j q_(k-j))
/ b_0; s = sin a, c = cos a: k s_k = sum' j a_j c_(k-j), k c_k = -sum' j a_j s_(k-j), with sum
over j = 0..k and sum' over j = 1..k. Moore (1966), Interval Analysis, chapter 11; Jorba, Zou
(2005), proposition 2.1.
"""

from __future__ import annotations

from collections.abc import Callable

from manip_dyn.codegen.emit import operand_text, operation_text
from manip_dyn.codegen.expression import Operation
from manip_dyn.codegen.trace import Function

SINES = ("sin", "cos")


class SeriesWriter:
    """Writes two passes over the graph of y' = f(y, tau): for values, and for coefficients.

    The workspace has a row per quantity and a column per coefficient. First come the m rows of
    the state y, the n rows of tau and the m rows of the rates f, then the quantities at whose
    earlier coefficients a recurrence looks back.

    Attributes:
        rows: Number of rows.
    """

    def __init__(self, function: Function, n: int):
        """Give a row to every quantity that needs one."""
        self._operations = function.graph.operations
        self._place = function.graph.place
        self._entries = function.entries
        size = len(function.entries)
        self._blocks = {"y": 0, "tau": size, "rate": size + n}
        self.rows = 2 * size + n
        self._row: dict[int, int] = {}
        self._slope_row: dict[int, int] = {}
        self._order: dict[int, None] = {}
        for place in function.graph.needed_for(function.outputs):
            self._enter(place)

    @property
    def products(self) -> int:
        """Number of sums of products in a pass."""
        return sum(line.count("product") for line in self.next_lines())

    def first_lines(self) -> list[str]:
        """Return the assignments that make all quantities from y and tau."""
        return self._lines(lambda place: operation_text(self._operations, place))

    def next_lines(self) -> list[str]:
        """Return the assignments that make coefficient `column` of all quantities."""
        return self._lines(self._coefficient)

    # ------------------------------------------------------------------------- rows
    def _enter(self, place: int) -> None:
        kind, operands, value = self._operations[place]
        if kind == "constant" or place in self._order:
            return
        if kind == "input":
            array, index = str(value).rstrip("]").split("[")
            self._row[place] = self._blocks[array] + int(index)
        elif kind in SINES:
            self._slope_row[operands[0]] = self._new_row()
            self._order |= dict.fromkeys(self._sine_and_cosine(operands[0]))
            self._keep(*self._sine_and_cosine(operands[0]))
            return
        elif kind == "divide":
            self._keep(operands[1], place)
        elif kind == "multiply" and not self._constant(operands[0]):
            self._keep(*operands)
        self._order[place] = None

    def _keep(self, *places: int) -> None:
        for place in places:
            if place not in self._row:
                self._row[place] = self._new_row()

    def _new_row(self) -> int:
        self.rows += 1
        return self.rows - 1

    def _sine_and_cosine(self, argument: int) -> list[int]:
        """Return the places of both: each recurrence needs the other."""
        return [self._place(Operation(kind, (argument,))) for kind in SINES]

    # ------------------------------------------------------------------------- text
    def _lines(self, text_of: Callable[[int], str]) -> list[str]:
        lines = []
        for place in self._order:
            given = self._operations[place].kind == "input"
            lines.append(f"x{place} = {self._entry(place) if given else text_of(place)}")
            if place in self._slope_row:
                lines.append(f"out[{self._slope_row[place]}] = column * x{place}")
            if place in self._row and not given:
                lines.append(f"{self._entry(place)} = x{place}")
        for (i,), value in self._entries:
            sign = "-" if value.negative else ""
            lines.append(f"out[{self._blocks['rate'] + i}] = {sign}x{value.place}")
        return lines

    def _entry(self, place: int) -> str:
        return f"out[{self._row[place]}]"

    def _coefficient(self, place: int) -> str:
        kind, operands, _ = self._operations[place]
        a, b = operands[0], operands[-1]
        if kind in SINES:
            other = next(each for each in self._sine_and_cosine(a) if each != place)
            sign = "" if kind == "sin" else "-"
            return f"{sign}product_tail(out[{self._slope_row[a]}], {self._entry(other)}) / column"
        if kind in ("add", "subtract"):
            return self._sum(a, b, "+" if kind == "add" else "-")
        if kind == "multiply":
            if self._constant(a):
                return f"{operand_text(self._operations, a)} * x{b}"
            return f"product({self._entry(a)}, {self._entry(b)})"
        given = "" if self._constant(a) else f"x{a} "
        tail = f"product_tail({self._entry(b)}, {self._entry(place)})"
        return f"({given}- {tail}) / start({self._entry(b)})"

    def _sum(self, a: int, b: int, sign: str) -> str:
        """Return a sum without its constant term, which has no later coefficients."""
        if self._constant(b):
            return f"x{a}"
        if self._constant(a):
            return f"x{b}" if sign == "+" else f"-x{b}"
        return f"x{a} {sign} x{b}"

    def _constant(self, place: int) -> bool:
        return self._operations[place].kind == "constant"
