"""Step size control, as text: which steps pass, and how long the next one should be.

With e the norm of the error estimate over the tolerances, and k the power of h that e goes with:

    paper   h_new = 0.9 h (1 / e)^(1 / (max(p, q) + 1))            Galhano (1994), eq. 14
    pi      h_new = 0.9 h e^(-0.7 / k) e_before^(0.4 / k)          Gustafsson (1991)

Rosenbrock methods put k for max(p, q) + 1 in "paper", as eq. 15 of Sandu et al. (2001) does.
A step with e > 1 fails and is tried again with a shorter one. By eq. 13 of Galhano (1994) the
error goes with the power k = min(p, q) + 1, not with the one that eq. 14 prints; it is used as
printed. Neither source limits the change of the step; here a factor stays in [0.1, 5].

Gustafsson, Control theoretic techniques for stepsize selection in explicit Runge-Kutta methods,
ACM Trans. Math. Software 17 (1991).
"""

from __future__ import annotations

from manip_dyn.integrate.method import Options, over

CONTROLLERS = ("pi", "paper")
NORMS = ("max", "rms")
ESTIMATES = ("plain", "scaled")
CONTROL_CONSTANTS = [
    "SAFETY = 0.9",
    "SHRINK = 0.1",
    "GROW = 5.0",
    "ROUNDING = 3.6e-15  # 16 units in the last place of 1",
]
SCALE = "tolerances[1, i] + tolerances[0, i] * {magnitude} + 1e-300"
"""What an error in component i is measured by; never zero."""


def finite_lines(name: str, size: int) -> list[str]:
    """Return the lines that end the loop if an array (m,) is not finite."""
    return [
        "total = 0.0",
        # 0 x is NaN for an infinite x; the fast-math flags in use keep it so.
        *over(size, f"total += 0.0 * {name}[i]"),
        "if total != 0.0:",
        "    status = NON_FINITE",
        "    break",
    ]


def judge_lines(options: Options, error: str, power: int) -> list[str]:
    """Return the lines that let a step pass or plan a shorter one.

    Args:
        options: Size and norm.
        error: Text of component i of the local error estimate.
        power: The power k of h that the estimate goes with.
    """
    magnitude = "max(abs(y[i]), abs(u[i]))"
    ratio = f"ratio = abs({error}) / ({SCALE.format(magnitude=magnitude)}) + 0.0 * u[i]"
    if options.norm == "rms":
        norm = ["error += ratio * ratio"]
        root = [f"error = sqrt(error / {options.size})"]
    else:  # A NaN stays, whatever follows.
        norm, root = ["if ratio > error or ratio != ratio:", "    error = ratio"], []
    return [
        "error = 0.0",
        *over(options.size, ratio, *norm),
        *root,
        "if not error <= 1.0 and (not locating or error != error):",
        "    failures += 1",
        "    rejected = True",
        "    locating = False",
        "    factor = SHRINK",
        "    if isfinite(error):",
        f"        factor = max(SHRINK, SAFETY * exp(-log(error) / {power}))",
        "    planned = factor * h",
        "    if abs(planned) < max(smallest, ROUNDING * abs(t) + 1e-30):",
        "        status = STEP_UNDERFLOW if isfinite(error) else NON_FINITE",
        "        break",
        "    continue",
    ]


def adapt_lines(options: Options, power: int, paper_power: int) -> list[str]:
    """Return the lines that plan the step after one that passed; not after a search."""
    exponent = (
        f"-level / {paper_power}"
        if options.controller == "paper"
        else f"(0.4 * memory - 0.7 * level) / {power}"
    )
    return [
        "if not locating:",
        "    level = log(max(error, 1e-12))",
        f"    factor = min(GROW, max(SHRINK, SAFETY * exp({exponent})))",
        "    if rejected:",
        "        factor = min(factor, 1.0)",
        "    wanted = factor * abs(h)",
        "    if abs(h) < abs(planned):  # cut short by a stop, not by the error",
        "        wanted = max(wanted, abs(planned))",
        "    planned = sign * min(largest, max(smallest, wanted))",
        "    memory = level",
        "    rejected = False",
    ]


def first_step_lines(options: Options, power: int) -> list[str]:
    """Return the lines that plan the first step from two derivatives, k0 and one in k1.

    Hairer, Norsett, Wanner, Solving ODEs I, section II.4, "Starting step size".
    """
    scale = f"scale = {SCALE.format(magnitude='abs(y[i])')}"
    lines = [
        *finite_lines("k0", options.size),
        "size0 = size1 = size2 = 0.0",
        *over(
            options.size,
            scale,
            "size0 = max(size0, abs(y[i]) / scale)",
            "size1 = max(size1, abs(k0[i]) / scale)",
        ),
        "guess = 1e-6 if size0 < 1e-5 or size1 < 1e-5 else 0.01 * size0 / size1",
        "longest = min(largest, abs(stops[-1, 0] - t))",
        "guess = min(guess, longest)",
        *over(options.size, "u[i] = y[i] + sign * guess * k0[i]"),
        "rhs(min(max(t + sign * guess, earliest), latest), u, p, k1)",
        "evaluations += 1",
        *over(options.size, scale, "size2 = max(size2, abs(k1[i] - k0[i]) / (guess * scale))"),
        "steepest = max(size1, size2)",
        "length = max(1e-6, 1e-3 * guess)",
        "if steepest > 1e-15:",
        f"    length = (0.01 / steepest) ** {1.0 / power!r}",
        "length = min(length, 100.0 * guess, longest)",
        "if not length > 0.0:",
        "    length = guess",
        "planned = sign * max(length, smallest)",
    ]
    return ["if planned == 0.0:", *("    " + line for line in lines)]
