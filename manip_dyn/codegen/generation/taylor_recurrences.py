"""Recurrences for Taylor coefficients, derived from an expression graph."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from manip_dyn.codegen.backend.convolution import Factors, padded
from manip_dyn.codegen.generation.kernel_source import Function, operand_text, operation_text
from manip_dyn.codegen.rigid_body.graph import Operation

SINES = ("sin", "cos")


class Term(NamedTuple):
    """A term in the sum for a coefficient.

    Attributes:
        depth: Length of the chain of operations from the newest rates to the term.
        negative: Whether the term is subtracted.
        text: Source of the term.
    """

    depth: int
    negative: bool
    text: str


class SeriesWriter:
    """Writes the passes over the graph of y' = f(y, tau): one for order 0, one for order k.

    Row k of the workspace contains the coefficients of order k: the state y (m), tau (n), and the
    rates f (m). In row 0 the reciprocals of divisors and the sums of products follow. All rows
    end with the first, then the second factors of the products. A sum or product that is used
    only once, in a sum, is merged into it. The newest term of a sum is added last, which shortens
    the dependency chain.

    Attributes:
        factors: Columns of the factors.
    """

    def __init__(self, function: Function, n: int, constants: tuple[str, ...] = ()):
        """Assign a column to every quantity whose coefficients a recurrence reads.

        Args:
            function: The graph.
            n: Number of joints.
            constants: Arguments that do not change with time.
        """
        self._operations = function.graph.operations
        self._node = function.graph.node
        self._entries = function.entries
        self._size = size = len(function.entries)
        self._order: dict[int, None] = {}
        self._products: list[tuple[str, str]] = []
        self._divisors: list[int] = []
        needed = function.graph.needed_for(function.outputs)
        self._constant_nodes = self._nodes_of(needed, constants)
        for node in needed:
            self._enter(node)
        self._merged = self._used_in_one_sum(needed)
        self._depth: dict[int, int] = {}
        self._columns: dict[str, list[int]] = {}
        self._lay_out(size, n)

    def _lay_out(self, size: int, n: int) -> None:
        """Assign columns of a row to all quantities."""
        self._blocks = {"y": 0, "tau": size, "rate": size + n, "divisor": 2 * size + n}
        count = len(self._products)
        sums, length = padded(self._blocks["divisor"] + len(self._divisors)), padded(count)
        self.factors = Factors(sums + 3 * length, count, sums + length, sums + 2 * length, sums)
        for i, (first, last) in enumerate(self._products):
            self._columns.setdefault(first, []).append(self.factors.first + i)
            self._columns.setdefault(last, []).append(self.factors.last + i)

    def first_lines(self) -> list[str]:
        """Return the assignments of all quantities of order 0."""
        lines = []
        for node in self._order:
            is_input = self._operations[node].kind == "input"
            value = self._input(node) if is_input else operation_text(self._operations, node)
            lines += [f"x{node} = {value}", *self._stores(f"x{node}", 1)]
        lines += [f"{self._reciprocal(node, 'out')} = 1.0 / x{node}" for node in self._divisors]
        return lines + self._rates(first=True)

    def next_lines(self) -> list[str]:
        """Return the assignments of all coefficients of order k >= 1."""
        lines = self.state_lines()
        for node in self._order:
            if node in self._merged or node in self._constant_nodes:
                continue
            lines += [f"x{node} = {self._coefficient(node)}", *self._stores(f"x{node}")]
            if f"d{node}" in self._columns:
                lines += [f"d{node} = order * x{node}", *self._stores(f"d{node}")]
        return lines + self._rates()

    def state_lines(self) -> list[str]:
        """Return the assignments of the coefficients of the state."""
        rate = self._blocks["rate"]
        states = [f"out[{i}] = previous[{rate + i}] * reciprocal" for i in range(self._size)]
        return ["reciprocal = 1.0 / order", *states]

    # -------------------------------------------------------------------------- graph
    def _enter(self, node: int) -> None:
        kind, operands, _ = self._operations[node]
        if kind == "constant" or node in self._order:
            return
        self._order[node] = None
        if node in self._constant_nodes:
            return
        if kind in SINES:
            sine, cosine = self._sine_and_cosine(operands[0])
            self._order |= {sine: None, cosine: None}
            self._products += [(f"d{operands[0]}", f"x{function}") for function in (sine, cosine)]
        elif kind == "divide":
            if not self._constant(operands[1]):
                self._products.append((f"x{operands[1]}", f"x{node}"))
            if operands[1] not in self._divisors:
                self._divisors.append(operands[1])
        elif kind == "multiply" and not any(map(self._constant, operands)):
            self._products.append((f"x{operands[0]}", f"x{operands[1]}"))

    def _nodes_of(self, needed: list[int], arrays: tuple[str, ...]) -> set[int]:
        """Return the nodes, except literals, that depend only on the arguments `arrays`."""
        constants: set[int] = set()
        for node in needed:
            kind, operands, _ = self._operations[node]
            if kind == "input":
                if self._array_and_index(node)[0] in arrays:
                    constants.add(node)
            elif kind != "constant" and all(
                operand in constants or self._operations[operand].kind == "constant"
                for operand in operands
            ):
                constants.add(node)
        return constants

    def _sine_and_cosine(self, argument: int) -> list[int]:
        """Return the nodes of an angle's sine and cosine, whose recurrences are coupled."""
        return [self._node(Operation(kind, (argument,))) for kind in SINES]

    def _used_in_one_sum(self, needed: list[int]) -> set[int]:
        """Return the sums and products that are used exactly once, as a term of a sum."""
        uses = Counter(operand for node in needed for operand in self._operations[node].operands)
        uses.update(value.node for _, value in self._entries)
        kinds = ("add", "subtract", "multiply")
        summands = {
            operand
            for node in needed
            for operand in self._operations[node].operands
            if self._operations[node].kind in kinds[:2]
        }
        return {
            node
            for node in summands - self._constant_nodes
            if uses[node] == 1 and self._operations[node].kind in kinds
        }

    # ------------------------------------------------------------------------- source
    def _stores(self, name: str, count: int | None = None) -> list[str]:
        """Return lines that store a quantity in its columns, or in the first `count` of them."""
        return [f"out[{column}] = {name}" for column in self._columns.get(name, [])[:count]]

    def _rates(self, first: bool = False) -> list[str]:
        return [
            f"out[{self._blocks['rate'] + i}] = {'-' if value.negative else ''}x{value.node}"
            for (i,), value in self._entries
        ]

    def _array_and_index(self, node: int) -> tuple[str, int]:
        array, index = str(self._operations[node].value).rstrip("]").split("[")
        return array, int(index)

    def _input(self, node: int) -> str:
        array, index = self._array_and_index(node)
        return f"out[{self._blocks[array] + index}]"

    def _start(self, node: int) -> str:
        return f"start[{self._columns[f'x{node}'][0]}]"

    def _sum(self, first: str, last: str) -> str:
        return f"start[{self.factors.sums + self._products.index((first, last))}]"

    def _coefficient(self, node: int) -> str:
        """Return the source of coefficient k of a node, and record its depth."""
        kind, operands, _ = self._operations[node]
        if kind == "input":
            self._depth[node] = int(self._is_rate_of_a_sum(node))
            return self._input(node)
        terms = sorted(self._terms(node), key=lambda term: term.depth)
        depth = 0
        for term in terms:
            depth = max(depth, term.depth) + 1
        self._depth[node] = depth + (kind == "divide")
        text = "".join((" - " if term.negative else " + ") + term.text for term in terms)
        text = text.removeprefix(" + ").lstrip()
        return f"({text}) * {self._reciprocal(operands[1])}" if kind == "divide" else text

    def _reciprocal(self, divisor: int, row: str = "start") -> str:
        return f"{row}[{self._blocks['divisor'] + self._divisors.index(divisor)}]"

    def _factor(self, node: int) -> str:
        """Return the source of a constant factor."""
        return operand_text(self._operations, node)

    def _terms(self, node: int) -> list[Term]:
        kind, operands, _ = self._operations[node]
        a, b = operands[0], operands[-1]
        if kind in ("add", "subtract"):
            return self._operand(a) + self._operand(b, negative=kind == "subtract")
        if kind in SINES:
            negative = kind == "cos"
            partner = next(x for x in self._sine_and_cosine(a) if x != node)
            inner = Term(0, negative, f"{self._sum(f'd{a}', f'x{partner}')} * reciprocal")
            return [inner, self._product(self._start(partner), a, negative)]
        if kind == "divide":
            if self._constant(b):
                return self._operand(a)
            inner = Term(0, True, self._sum(f"x{b}", f"x{node}"))
            return [*self._operand(a), inner, self._product(self._start(node), b, True)]
        for factor, operand in ((a, b), (b, a)):
            if self._constant(factor):
                return [self._product(self._factor(factor), operand)]
        inner = Term(0, False, self._sum(f"x{a}", f"x{b}"))
        if a == b:
            return [inner, self._product(f"2.0 * {self._start(a)}", a)]
        return [inner, self._product(self._start(a), b), self._product(self._start(b), a)]

    def _operand(self, node: int, negative: bool = False) -> list[Term]:
        """Return the terms of a summand for order k >= 1; a constant has none."""
        if self._constant(node):
            return []
        if node in self._merged:
            return [
                term._replace(negative=term.negative != negative) for term in self._terms(node)
            ]
        return [Term(self._depth[node], negative, f"x{node}")]

    def _product(self, factor: str, node: int, negative: bool = False) -> Term:
        return Term(self._depth[node], negative, f"{factor} * x{node}")

    def _is_rate_of_a_sum(self, node: int) -> bool:
        """Return whether an input is a state whose rate is not itself an input."""
        array, index = self._array_and_index(node)
        if array != "y":
            return False
        rate = {i: value for (i,), value in self._entries}[index]
        return self._operations[rate.node].kind != "input"

    def _constant(self, node: int) -> bool:
        return self._operations[node].kind == "constant" or node in self._constant_nodes


class LaneColumns(NamedTuple):
    """Layout of the quantities of a series in columns.

    Attributes:
        width: Columns per row; each coefficient has one row, which starts with the state.
        fixed: Rows of the array ``fixed``, which contains reciprocals of divisors, constant
            factors, and the sums of the current order.
        sums: Row of the sum of the first product in ``fixed``; the other sums follow.
        products: Columns of the factors of each product.
    """

    width: int
    fixed: int
    sums: int
    products: tuple[tuple[int, int], ...]


class LaneSeriesWriter(SeriesWriter):
    """Writes the passes of a series for many motions, one motion per lane.

    ``out``, ``previous`` and ``start`` denote the current, the previous and the first row.
    ``fixed`` contains reciprocals of divisors and constant factors, and ``sums[i]`` is the sum of
    product i.

    Attributes:
        columns: Layout of the quantities in columns.
    """

    def __init__(self, function: Function, n: int):
        """Assign a column to every quantity whose coefficients a recurrence reads.

        Args:
            function: The graph of y' = f(y, ...). The arguments after y are constant in time.
            n: Number of joints.
        """
        super().__init__(function, n, function.declaration.arguments[1:])

    def _lay_out(self, size: int, n: int) -> None:
        self._states = {
            node: self._array_and_index(node)[1]
            for node in self._order
            if node not in self._constant_nodes and self._operations[node].kind == "input"
        }
        rates = [i for i in range(size) if self._entries[i][1].node not in self._states]
        self._rate_columns = {i: size + k for k, i in enumerate(rates)}
        width = size + len(rates)
        for node, i in self._states.items():
            self._columns[f"x{node}"] = [i]
        for product in self._products:
            for name in product:
                if name not in self._columns:
                    self._columns[name] = [width]
                    width += 1
        self._constant_columns = self._constant_factors()
        count = len(self._divisors) + len(self._constant_columns)
        products = tuple(
            (self._columns[first][0], self._columns[last][0]) for first, last in self._products
        )
        self.columns = LaneColumns(width, max(count + len(products), 1), count, products)

    def _constant_factors(self) -> list[int]:
        """Return the nodes of constant factors that are computed, not inputs."""
        factors: dict[int, None] = {}
        for node in self._order:
            kind, operands, _ = self._operations[node]
            if kind == "multiply" and node not in self._constant_nodes:
                factors |= {x: None for x in operands if x in self._constant_nodes}
        return [node for node in factors if self._operations[node].kind != "input"]

    def first_lines(self) -> list[str]:
        """Return the assignments of all quantities of order 0."""
        lines = super().first_lines()
        first = len(self._divisors)
        lines += [f"fixed[{first + i}] = x{node}" for i, node in enumerate(self._constant_columns)]
        return lines

    def state_lines(self) -> list[str]:
        """Return the assignments of the coefficients of the state."""
        lines = ["reciprocal = 1.0 / order"]
        for i, (_, value) in enumerate(self._entries):
            column = self._rate_columns.get(i, self._states.get(value.node))
            sign = "-" if value.negative and i not in self._rate_columns else ""
            lines += [f"y{i} = {sign}previous[{column}] * reciprocal", f"out[{i}] = y{i}"]
        return lines

    def _stores(self, name: str, count: int | None = None) -> list[str]:
        """Return lines that store a quantity; `state_lines` stores the state for order k >= 1."""
        assigned = count is None and name in {f"x{node}" for node in self._states}
        return [] if assigned else super()._stores(name, count)

    def _rates(self, first: bool = False) -> list[str]:
        lines = []
        for i, column in self._rate_columns.items():
            _, value = self._entries[i]
            text = f"{'-' if value.negative else ''}{operand_text(self._operations, value.node)}"
            is_zero = not first and value.node in self._constant_nodes
            lines.append(f"out[{column}] = {0.0 if is_zero else text}")
        return lines

    def _input(self, node: int) -> str:
        return str(self._operations[node].value)

    def _coefficient(self, node: int) -> str:
        if node in self._states:
            super()._coefficient(node)  # records the depth
            return f"y{self._states[node]}"
        return super()._coefficient(node)

    def _sum(self, first: str, last: str) -> str:
        return f"sums[{self._products.index((first, last))}]"

    def _reciprocal(self, divisor: int, row: str = "start") -> str:
        return f"fixed[{self._divisors.index(divisor)}]"

    def _factor(self, node: int) -> str:
        operation = self._operations[node]
        if node not in self._constant_nodes:
            return operand_text(self._operations, node)
        if operation.kind == "input":
            return str(operation.value)
        return f"fixed[{len(self._divisors) + self._constant_columns.index(node)}]"
