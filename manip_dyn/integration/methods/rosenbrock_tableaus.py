"""Coefficients of Rosenbrock and Rosenbrock-Nystrom methods, derived in exact arithmetic.

A Rosenbrock method of s stages (Hairer, Wanner, Solving ODEs II, eq. IV.7.4; Sandu et al. (2001),
eq. 11) has a strictly lower triangular `alpha`, a lower triangular `gamma` with equal diagonal
entries, weights b, and weights b_hat of the embedded solution. Theorem 2.1 of Sandu et al.
converts it to a method for y'' = f(t, y, y').

Sandu, Negrut, Haug, Potra, Sandu, Rosenbrock-Nystrom integrators for SODE of multibody dynamics,
Michigan Tech CSTR-01-06 (2001). Its tables contain two misprints: gamma_21 must be negative, and
a_21 must be 2.

RODAS5P is a stiffly accurate method of order 5 for stiff motions at tight tolerances: Steinebach,
Construction of Rosenbrock-Wanner method Rodas5P and numerical benchmarks within the Julia
Differential Equations package, BIT Numer. Math. 63 (2023) 27. The published coefficients are those
of the solved stages, alpha gamma^-1 and 1 / gamma I - gamma^-1, to 16 digits. They determine alpha
and gamma; theorem 2.1 of Sandu et al. (2001) then gives the form for second-order systems.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from manip_dyn.core.errors import ManipDynError

Row = tuple[Fraction, ...]
Matrix = tuple[Row, ...]
SANDU_GAMMA = Fraction("0.57281606")
"""Printed diagonal of the method of order 4, for which |R| at infinity is 1e-8."""
VERWER_GAMMA = Fraction("1.707106781186547524400844362104849039284835937688474036588")
"""Diagonal of the W-method, 1 + 1 / sqrt(2)."""


@dataclass(frozen=True, eq=False)
class RosenbrockTableau:
    """A Rosenbrock method, and its derived form for second-order systems.

    Tableaus are compared by identity, like `Tableau`.

    Attributes:
        alpha: Strictly lower triangular matrix (s, s), by rows.
        gamma: Lower triangular matrix (s, s) with equal diagonal entries, by rows.
        b: Weights (s,) of the solution.
        b_hat: Weights (s,) of the embedded solution.
        order: Order of `b`.
        embedded_order: Order of `b_hat`.
        source: Author and year.
    """

    alpha: Matrix
    gamma: Matrix
    b: Row
    b_hat: Row
    order: int
    embedded_order: int
    source: str

    def __post_init__(self) -> None:
        """Check that the coefficients form a Rosenbrock method."""
        s = len(self.b)
        faults = {
            "is not square": any(len(row) != s for row in (*self.alpha, *self.gamma, self.b_hat))
            or len(self.alpha) != s
            or len(self.gamma) != s,
            "has an alpha that is not explicit": any(
                any(row[i:]) for i, row in enumerate(self.alpha)
            ),
            "has a gamma that is not lower triangular": any(
                any(row[i + 1 :]) for i, row in enumerate(self.gamma)
            ),
            "has different numbers on the diagonal": len(
                {row[i] for i, row in enumerate(self.gamma)}
            )
            != 1,
            "has weights that do not sum to 1": sum(self.b) != 1 or sum(self.b_hat) != 1,
        }
        for fault, present in faults.items():
            if present:
                raise ManipDynError(f"the Rosenbrock tableau {fault}.")

    @classmethod
    def solved(
        cls,
        gamma: Fraction,
        a: Matrix,
        c: Matrix,
        m: Row,
        m_hat: Row,
        order: int,
        embedded_order: int,
        source: str,
    ) -> RosenbrockTableau:
        """Return the tableau of a method from the coefficients of its solved stages.

        Args:
            gamma: Diagonal entry of gamma.
            a: Weights of the solved stages in the arguments of f (s, s).
            c: Weights of the solved stages in the right-hand sides (s, s).
            m: Weights (s,) of the solution, with the digits of the source.
            m_hat: Weights (s,) of the embedded solution.
            order: Order of `m`.
            embedded_order: Order of `m_hat`.
            source: Author and year.
        """
        s = range(len(m))
        inverse = tuple(tuple((1 / gamma if i == j else 0) - c[i][j] for j in s) for i in s)
        matrix = _inverse(inverse)

        def weights(row: Row) -> Row:
            """Return weights b; correct the first one so that they sum to 1 exactly."""
            b = _product((row,), matrix)[0]
            return (1 - sum(b[1:], Fraction(0)), *b[1:])

        return cls(
            _product(a, matrix), matrix, weights(m), weights(m_hat), order, embedded_order, source
        )

    @property
    def stages(self) -> int:
        """Number of stages, each of which solves a linear system."""
        return len(self.b)

    @property
    def diagonal(self) -> Fraction:
        """Diagonal entry of gamma."""
        return self.gamma[0][0]

    @cached_property
    def inverse(self) -> Matrix:
        """Inverse of gamma."""
        return _inverse(self.gamma)

    @cached_property
    def alpha_sums(self) -> Row:
        """Row sums alpha_i of alpha, the abscissas."""
        return tuple(sum(row, Fraction(0)) for row in self.alpha)

    @cached_property
    def gamma_sums(self) -> Row:
        """Row sums gamma_i of gamma, the factors of df/dt."""
        return tuple(sum(row, Fraction(0)) for row in self.gamma)

    @cached_property
    def a(self) -> Matrix:
        """Weights of stages in the arguments of f: alpha gamma^-1."""
        return _product(self.alpha, self.inverse)

    @cached_property
    def c(self) -> Matrix:
        """Weights of earlier stages in the right-hand sides: 1 / gamma I - gamma^-1."""
        s = range(self.stages)
        return tuple(
            tuple((1 / self.diagonal if i == j else 0) - self.inverse[i][j] for j in s) for i in s
        )

    @cached_property
    def delta(self) -> Matrix:
        """Weights of stages in the factor of df/dy: gamma + gamma alpha gamma^-1."""
        return _sum(self.gamma, _product(_product(self.gamma, self.alpha), self.inverse))

    @cached_property
    def theta(self) -> Matrix:
        """Weights of stages in the positions at which f is evaluated: alpha + alpha^2 gamma^-1."""
        return _sum(self.alpha, _product(_product(self.alpha, self.alpha), self.inverse))

    def weights(self, b: Row) -> Row:
        """Return b gamma^-1, which is m of theorem 2.1, or m_hat for b_hat."""
        return _product((b,), self.inverse)[0]

    def position_weights(self, b: Row) -> Row:
        """Return b + b alpha gamma^-1, which is mu of theorem 2.1."""
        return _sum((b,), (self.weights(_product((b,), self.alpha)[0]),))[0]

    def repeats(self, i: int) -> bool:
        """Return whether stage i reuses the evaluation of the previous stage."""
        return i > 0 and self.alpha[i] == self.alpha[i - 1]


def order_four(gamma: Fraction = SANDU_GAMMA) -> RosenbrockTableau:
    """Return the Rosenbrock-Nystrom tableau of order 4 with four stages and embedded order 3.

    This solves eq. 36 to 42 of Sandu et al. (2001) in sequence. Each equation is linear in its
    unknown, so all coefficients are rational functions of gamma.
    """
    alpha2 = 2 * gamma
    alpha3 = (Fraction(1, 5) - alpha2 / 4) / (Fraction(1, 4) - alpha2 / 3)  # eq. 40
    # eq. 36c and 36e with b_3 = 0 and alpha_4 = alpha_3.
    b4 = (Fraction(1, 4) - alpha2 / 3) / (alpha3**2 * (alpha3 - alpha2))
    b2 = (Fraction(1, 3) - b4 * alpha3**2) / alpha2**2
    weights = (1 - b2 - b4, b2, Fraction(0), b4)
    half = Fraction(1, 2) - gamma
    sixth = Fraction(1, 6) - gamma + gamma**2
    twelfth = Fraction(1, 12) - gamma / 3
    last = Fraction(1, 24) - gamma / 2 + Fraction(3, 2) * gamma**2 - gamma**3
    beta43 = (Fraction(1, 20) - gamma / 4 - alpha2 * twelfth) / (
        b4 * alpha3**2 * (alpha3 - alpha2)
    )  # eq. 41
    beta42 = (twelfth / b4 - beta43 * alpha3**2) / alpha2**2  # eq. 36g
    chain = last / (b4 * beta43)  # beta_32 beta_2', eq. 36h
    inner = sixth / b4  # beta_42 beta_2' + beta_43 beta_3', eq. 36d
    # eq. 38 with beta_4' from eq. 36b and beta_3' from eq. 36d is linear in beta_2'.
    slope = chain * (alpha3**2 + alpha2**2 * b2 / b4)
    slope -= inner * (alpha3**2 + alpha2**2 * beta42 / beta43)
    beta2 = (chain * alpha2**2 * half / b4 - inner * alpha2**2 * inner / beta43) / slope
    beta3 = (inner - beta42 * beta2) / beta43
    beta4 = (half - b2 * beta2) / b4
    alpha32 = (Fraction(1, 8) - gamma / 3) / (b4 * alpha3 * beta2)  # eq. 36f
    beta32 = chain / beta2
    zero = Fraction(0)
    third = (alpha3 - alpha32, alpha32, zero, zero)
    alpha = ((zero,) * 4, (alpha2, zero, zero, zero), third, third)
    beta = (
        (gamma, zero, zero, zero),
        (beta2, gamma, zero, zero),
        (beta3 - beta32, beta32, gamma, zero),
        (beta4 - beta42 - beta43, beta42, beta43, gamma),
    )
    # The matrix of eq. 37 is singular by eq. 38. b_hat is b plus a multiple of its kernel, such
    # that b_hat_1 has the printed value alpha_31.
    kernel4 = -chain / inner
    kernel2 = -(1 + kernel4) * (alpha3 / alpha2) ** 2
    kernel = (-1 - kernel2 - kernel4, kernel2, Fraction(1), kernel4)
    multiple = (third[0] - weights[0]) / kernel[0]
    return RosenbrockTableau(
        alpha=alpha,
        gamma=_sum(beta, tuple(tuple(-x for x in row) for row in alpha)),
        b=weights,
        b_hat=tuple(b + multiple * k for b, k in zip(weights, kernel, strict=True)),
        order=4,
        embedded_order=3,
        source="Sandu et al. (2001)",
    )


def w_method() -> RosenbrockTableau:
    """Return the tableau of a W-method of order 2 with embedded order 1.

    The order holds for any approximation of the Jacobian.

    Verwer, Spee, Blom, Hundsdorfer (report 1997, paper 1999), ROS2; Sandu et al. (2001), section
    4.
    """
    zero, one, half, g = Fraction(0), Fraction(1), Fraction(1, 2), VERWER_GAMMA
    return RosenbrockTableau(
        alpha=((zero, zero), (one, zero)),
        gamma=((g, zero), (-2 * g, g)),
        b=(half, half),
        b_hat=(zero, one),
        order=2,
        embedded_order=1,
        source="Verwer et al. (1997), in Sandu et al. (2001)",
    )


def _product(left: Matrix, right: Matrix) -> Matrix:
    columns = list(zip(*right, strict=True))
    return tuple(
        tuple(sum((a * b for a, b in zip(row, column, strict=True)), Fraction(0))
              for column in columns)
        for row in left
    )  # fmt: skip


def _sum(left: Matrix, right: Matrix) -> Matrix:
    return tuple(
        tuple(a + b for a, b in zip(first, second, strict=True))
        for first, second in zip(left, right, strict=True)
    )


def _inverse(lower: Matrix) -> Matrix:
    """Return the inverse of a lower triangular matrix, by forward substitution."""
    rows: list[Row] = []
    for i, row in enumerate(lower):
        unit = [Fraction(int(i == j)) for j in range(len(lower))]
        for k, above in enumerate(rows):
            unit = [value - row[k] * x for value, x in zip(unit, above, strict=True)]
        rows.append(tuple(value / row[i] for value in unit))
    return tuple(rows)


STEINEBACH_GAMMA = Fraction("0.21193756319429014")
STAGES = 8
_SIXTH = "-7.502846399306121 2.561846144803919 -11.627539656261098 -0.18268767659942256 "
_SIXTH += "0.030198172008377946"
_STEINEBACH_A = (
    "",
    "3",
    "2.849394379747939 0.45842242204463923",
    "-6.954028509809101 2.489845061869568 -10.358996098473584",
    "2.8029986275628964 0.5072464736228206 -0.3988312541770524 -0.04721187230404641",
    _SIXTH,
    f"{_SIXTH} 1",
    f"{_SIXTH} 1 1",
)
_STEINEBACH_C = (
    "",
    "-14.155112264123755",
    "-17.97296035885952 -2.859693295451294",
    "147.12150275711716 -1.41221402718213 71.68940251302358",
    "165.43517024871676 -0.4592823456491126 42.90938336958603 -5.961986721573306",
    "24.854864614690072 -3.0009227002832186 47.4931110020768 5.5814197821558125 "
    "-0.6610691825249471",
    "30.91273214028599 -3.1208243349937974 77.79954646070892 34.28646028294783 "
    "-19.097331116725623 -28.087943162872662",
    "37.80277123390563 -3.2571969029072276 112.26918849496327 66.9347231244047 "
    "-40.06618937091002 -54.66780262877968 -9.48861652309627",
)


def rodas5p() -> RosenbrockTableau:
    """Return RODAS5P of order 5. Its embedded solution is the argument of the last stage."""
    last = _rows_of(_STEINEBACH_A)[-1]
    return RosenbrockTableau.solved(
        gamma=STEINEBACH_GAMMA,
        a=_rows_of(_STEINEBACH_A),
        c=_rows_of(_STEINEBACH_C),
        m=(*last[:-1], Fraction(1)),
        m_hat=last,
        order=5,
        embedded_order=4,
        source="Steinebach (2023)",
    )


def _rows_of(texts: tuple[str, ...]) -> Matrix:
    return tuple(_row_of(text.split()) for text in texts)


def _row_of(numbers: list[str]) -> Row:
    return tuple(Fraction(number) for number in [*numbers, *["0"] * (STAGES - len(numbers))])
