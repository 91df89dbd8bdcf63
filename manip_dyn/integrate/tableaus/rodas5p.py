"""RODAS5P: a stiffly accurate Rosenbrock method of order 5, for stiff motions at tight tolerances.

Steinebach, Construction of Rosenbrock-Wanner method Rodas5P and numerical benchmarks within the
Julia Differential Equations package, BIT Numer. Math. 63 (2023) 27. The coefficients are those of
the solved stages, alpha gamma^-1 and 1 / gamma I - gamma^-1, to 16 digits; from them come alpha
and gamma, and with theorem 2.1 of Sandu et al. (2001) the form for second-order systems.
"""

from __future__ import annotations

from fractions import Fraction

from manip_dyn.integrate.tableaus.rosenbrock_tableau import Matrix, RosenbrockTableau, Row

GAMMA = Fraction("0.21193756319429014")
STAGES = 8
_SIXTH = "-7.502846399306121 2.561846144803919 -11.627539656261098 -0.18268767659942256 "
_SIXTH += "0.030198172008377946"
_A = (
    "",
    "3",
    "2.849394379747939 0.45842242204463923",
    "-6.954028509809101 2.489845061869568 -10.358996098473584",
    "2.8029986275628964 0.5072464736228206 -0.3988312541770524 -0.04721187230404641",
    _SIXTH,
    f"{_SIXTH} 1",
    f"{_SIXTH} 1 1",
)
_C = (
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
    """Return the method of order 5, compared with order 4: the argument of its last stage."""
    last = _rows(_A)[-1]
    return RosenbrockTableau.solved(
        gamma=GAMMA,
        a=_rows(_A),
        c=_rows(_C),
        m=(*last[:-1], Fraction(1)),
        m_hat=last,
        order=5,
        embedded_order=4,
        source="Steinebach (2023)",
    )


def _rows(texts: tuple[str, ...]) -> Matrix:
    return tuple(_row(text.split()) for text in texts)


def _row(numbers: list[str]) -> Row:
    return tuple(Fraction(number) for number in [*numbers, *["0"] * (STAGES - len(numbers))])
