"""Recurrences for Taylor coefficients, derived from an expression graph."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from manip_dyn.codegen.backend.convolution import Factors, padded
from manip_dyn.codegen.generation.kernel_modules import operand_text, operation_text
from manip_dyn.codegen.rigid_body.catalogue import Function
from manip_dyn.codegen.rigid_body.graph import Operation

SINES = ("sin", "cos")


class Term(NamedTuple):
    """One of the terms whose sum a coefficient is.

    Attributes:
        depth: Operations, one after the other, from the newest rates to its value.
        negative: Whether it is subtracted.
        text: The term itself.
    """

    depth: int
    negative: bool
    text: str


class SeriesWriter:
    """Writes two passes over the graph of y' = f(y, tau): for values, and for coefficients.

    A row of the workspace holds coefficient k of everything: the state y (m), tau (n), the rates
    f (m); then, in row 0 only, the reciprocals of divisors and the sums of products; then the
    products' first factors, and their second factors. Sums used once dissolve in the sum that
    uses them, and every sum takes its latest term last, so that a pass is as short as its chain
    of dependences.

    Attributes:
        factors: Where the factors lie.
    """

    def __init__(self, function: Function, n: int, still: tuple[str, ...] = ()):
        """Give a place to every quantity that a recurrence looks back at.

        Args:
            function: The graph.
            n: Number of joints.
            still: Arguments that do not change with time, nor what is made of them alone.
        """
        self._operations = function.graph.operations
        self._place = function.graph.place
        self._entries = function.entries
        self._size = size = len(function.entries)
        self._order: dict[int, None] = {}
        self._products: list[tuple[str, str]] = []
        self._divisors: list[int] = []
        needed = function.graph.needed_for(function.outputs)
        self._still = self._still_places(needed, still)
        for place in needed:
            self._enter(place)
        self._dissolved = self._used_in_one_sum(needed)
        self._depth: dict[int, int] = {}
        self._columns: dict[str, list[int]] = {}
        self._lay_out(size, n)

    def _lay_out(self, size: int, n: int) -> None:
        """Choose where in a row everything lies."""
        self._blocks = {"y": 0, "tau": size, "rate": size + n, "divisor": 2 * size + n}
        count = len(self._products)
        sums, length = padded(self._blocks["divisor"] + len(self._divisors)), padded(count)
        self.factors = Factors(sums + 3 * length, count, sums + length, sums + 2 * length, sums)
        for i, (first, last) in enumerate(self._products):
            self._columns.setdefault(first, []).append(self.factors.first + i)
            self._columns.setdefault(last, []).append(self.factors.last + i)

    def first_lines(self) -> list[str]:
        """Return the assignments that make all quantities from y and tau."""
        lines = []
        for place in self._order:
            given = self._operations[place].kind == "input"
            value = self._input(place) if given else operation_text(self._operations, place)
            lines += [f"x{place} = {value}", *self._kept(f"x{place}", 1)]
        lines += [f"{self._reciprocal(place, 'out')} = 1.0 / x{place}" for place in self._divisors]
        return lines + self._rates(first=True)

    def next_lines(self) -> list[str]:
        """Return the assignments that make the coefficients of order k >= 1."""
        lines = self.state_lines()
        for place in self._order:
            if place in self._dissolved or place in self._still:
                continue
            lines += [f"x{place} = {self._coefficient(place)}", *self._kept(f"x{place}")]
            if f"d{place}" in self._columns:
                lines += [f"d{place} = order * x{place}", *self._kept(f"d{place}")]
        return lines + self._rates()

    def state_lines(self) -> list[str]:
        """Return the first of them, which make those of the state."""
        rate = self._blocks["rate"]
        states = [f"out[{i}] = previous[{rate + i}] * reciprocal" for i in range(self._size)]
        return ["reciprocal = 1.0 / order", *states]

    # ------------------------------------------------------------------------- places
    def _enter(self, place: int) -> None:
        kind, operands, _ = self._operations[place]
        if kind == "constant" or place in self._order:
            return
        self._order[place] = None
        if place in self._still:
            return
        if kind in SINES:
            sine, cosine = self._sine_and_cosine(operands[0])
            self._order |= {sine: None, cosine: None}
            self._products += [(f"d{operands[0]}", f"x{each}") for each in (sine, cosine)]
        elif kind == "divide":
            if not self._constant(operands[1]):
                self._products.append((f"x{operands[1]}", f"x{place}"))
            if operands[1] not in self._divisors:
                self._divisors.append(operands[1])
        elif kind == "multiply" and not any(map(self._constant, operands)):
            self._products.append((f"x{operands[0]}", f"x{operands[1]}"))

    def _still_places(self, needed: list[int], arrays: tuple[str, ...]) -> set[int]:
        """Return the places of what does not change with time, literal constants aside."""
        still: set[int] = set()
        for place in needed:
            kind, operands, _ = self._operations[place]
            if kind == "input":
                if self._array_and_index(place)[0] in arrays:
                    still.add(place)
            elif kind != "constant" and all(
                each in still or self._operations[each].kind == "constant" for each in operands
            ):
                still.add(place)
        return still

    def _sine_and_cosine(self, argument: int) -> list[int]:
        """Return the places of both: each recurrence needs the other."""
        return [self._place(Operation(kind, (argument,))) for kind in SINES]

    def _used_in_one_sum(self, needed: list[int]) -> set[int]:
        """Return the places that are a term of one sum and nothing else."""
        uses = Counter(operand for place in needed for operand in self._operations[place].operands)
        uses.update(value.place for _, value in self._entries)
        kinds = ("add", "subtract", "multiply")
        summands = {
            operand
            for place in needed
            for operand in self._operations[place].operands
            if self._operations[place].kind in kinds[:2]
        }
        return {
            place
            for place in summands - self._still
            if uses[place] == 1 and self._operations[place].kind in kinds
        }

    # ------------------------------------------------------------------------- text
    def _kept(self, name: str, most: int | None = None) -> list[str]:
        """Return the stores of a quantity into the factors that it is."""
        return [f"out[{column}] = {name}" for column in self._columns.get(name, [])[:most]]

    def _rates(self, first: bool = False) -> list[str]:
        return [
            f"out[{self._blocks['rate'] + i}] = {'-' if value.negative else ''}x{value.place}"
            for (i,), value in self._entries
        ]

    def _array_and_index(self, place: int) -> tuple[str, int]:
        array, index = str(self._operations[place].value).rstrip("]").split("[")
        return array, int(index)

    def _input(self, place: int) -> str:
        array, index = self._array_and_index(place)
        return f"out[{self._blocks[array] + index}]"

    def _start(self, place: int) -> str:
        return f"start[{self._columns[f'x{place}'][0]}]"

    def _sum(self, first: str, last: str) -> str:
        return f"start[{self.factors.sums + self._products.index((first, last))}]"

    def _coefficient(self, place: int) -> str:
        """Return the text of coefficient k of a place, and note its depth."""
        kind, operands, _ = self._operations[place]
        if kind == "input":
            self._depth[place] = int(self._is_rate_of_a_sum(place))
            return self._input(place)
        terms = sorted(self._terms(place), key=lambda term: term.depth)
        depth = 0
        for term in terms:
            depth = max(depth, term.depth) + 1
        self._depth[place] = depth + (kind == "divide")
        text = "".join((" - " if term.negative else " + ") + term.text for term in terms)
        text = text.removeprefix(" + ").lstrip()
        return f"({text}) * {self._reciprocal(operands[1])}" if kind == "divide" else text

    def _reciprocal(self, divisor: int, row: str = "start") -> str:
        return f"{row}[{self._blocks['divisor'] + self._divisors.index(divisor)}]"

    def _factor(self, place: int) -> str:
        """Return the text of a factor that does not change with time."""
        return operand_text(self._operations, place)

    def _terms(self, place: int) -> list[Term]:
        kind, operands, _ = self._operations[place]
        a, b = operands[0], operands[-1]
        if kind in ("add", "subtract"):
            return self._operand(a) + self._operand(b, negative=kind == "subtract")
        if kind in SINES:
            negative = kind == "cos"
            other = next(each for each in self._sine_and_cosine(a) if each != place)
            inner = Term(0, negative, f"{self._sum(f'd{a}', f'x{other}')} * reciprocal")
            return [inner, self._product(self._start(other), a, negative)]
        if kind == "divide":
            if self._constant(b):
                return self._operand(a)
            inner = Term(0, True, self._sum(f"x{b}", f"x{place}"))
            return [*self._operand(a), inner, self._product(self._start(place), b, True)]
        for one, other in ((a, b), (b, a)):
            if self._constant(one):
                return [self._product(self._factor(one), other)]
        inner = Term(0, False, self._sum(f"x{a}", f"x{b}"))
        if a == b:
            return [inner, self._product(f"2.0 * {self._start(a)}", a)]
        return [inner, self._product(self._start(a), b), self._product(self._start(b), a)]

    def _operand(self, place: int, negative: bool = False) -> list[Term]:
        """Return the terms of a summand; a constant has no later coefficients."""
        if self._constant(place):
            return []
        if place in self._dissolved:
            return [
                term._replace(negative=term.negative != negative) for term in self._terms(place)
            ]
        return [Term(self._depth[place], negative, f"x{place}")]

    def _product(self, factor: str, place: int, negative: bool = False) -> Term:
        return Term(self._depth[place], negative, f"{factor} * x{place}")

    def _is_rate_of_a_sum(self, place: int) -> bool:
        """Whether an input is a state whose rate is computed, not another input."""
        array, index = self._array_and_index(place)
        if array != "y":
            return False
        rate = {i: value for (i,), value in self._entries}[index]
        return self._operations[rate.place].kind != "input"

    def _constant(self, place: int) -> bool:
        return self._operations[place].kind == "constant" or place in self._still


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
