"""`manip_dyn bench calls`: documented calls from Python, the code inside them, and peers' calls.

The first candidate of each row is the call in its title. "inside" is the compiled code that the
call runs, with existing arrays. The other candidates are calls of peers for the same problem:
pinocchio, `mujoco.rollout` and `propagate_until` of heyoka. All rows use one thread. Takes about
60 s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pinocchio

import manip_dyn as md
from manip_dyn.bench import peers
from manip_dyn.bench.integrators import heyoka_call
from manip_dyn.bench.timing import Candidate, Timing, compare, timing_lines
from manip_dyn.integration import METHODS, Options, compile_engine
from manip_dyn.robot import Robot, load_robot
from manip_dyn.simulation import Integrator, Simulation

PACKAGES = ("manip_dyn", "numba", "numpy", "pin", "mujoco", "heyoka")
STATES = 512
SPAN = 5.0
"""Duration of the motion of the RR arm, s."""


class Row(NamedTuple):
    """Timings of a documented call, of the code inside, and of the peers' calls."""

    call: str
    timings: list[Timing]


def table(rows: Sequence[Row]) -> str:
    """Return one table per call."""
    lines = ["Medians of CPU time over interleaved rounds, and of the ratios to the call."]
    for row in rows:
        lines += [f"\n{row.call}", *timing_lines(row.timings)]
    return "\n".join(lines)


def measure(robot: Robot | None = None) -> list[Row]:
    """Time the calls for a robot (default: the PA-10) and for the motion of the RR arm."""
    robot = robot or load_robot("pa10")
    names = values_of(robot)
    rows = []
    for call, others in (*_kernels(robot, names), *_motions(robot, names), *_integrations(names)):
        candidates = [Candidate("the call", documented(call, names)), *others]
        rows.append(Row(call, compare(candidates)))
    return rows


def values_of(robot: Robot) -> dict[str, Any]:
    """Return the variables of the documented calls by name."""
    n, random = robot.n, np.random.default_rng(0)
    q, v, tau = random.uniform(-1.0, 1.0, (3, n))
    qs, vs, taus = (random.uniform(-1.0, 1.0, (n, STATES)) for _ in range(3))
    kernels, rr = md.customize(robot), md.customize(load_robot("rr"))
    y0, p = np.array([0.5, 0.3, 0.0, 0.0]), np.zeros(2)
    values: dict[str, Any] = {
        "md": md,
        "robot": robot,
        "kernels": kernels,
        "q": q,
        "v": v,
        "tau": tau,
        "qs": qs,
        "vs": vs,
        "taus": taus,
        "out": np.empty((n, STATES)),
        "control": md.PDControl(q, 100.0, 10.0),
        "law": lambda t, q, v: -v,
        "rhs": rr.right_hand_side,
        "y0": y0,
        "p": p,
    }
    for digits, equations, method in (
        (6, rr.right_hand_side, "rkdp87"),  # the fastest method for this tolerance
        (9, rr.series, "taylor"),
        (12, rr.series, "taylor"),
    ):
        values[f"problem_{digits}"] = md.problem(
            equations, (0.0, SPAN), y0, method=method, rtol=10.0**-digits, p=p
        )
    return values


def documented(call: str, names: dict[str, Any]) -> Callable[[], object]:
    """Return a function that evaluates a call, such as ``md.simulate(robot, q, v, tau, 1.0)``."""
    return eval(f"lambda: {call}", names)  # the calls are constants of this module


Rows = Iterator[tuple[str, list[Candidate]]]


def _kernels(robot: Robot, names: dict[str, Any]) -> Rows:
    """Yield calls of kernels for one state and for many."""
    q, v, tau, kernels = (names[key] for key in ("q", "v", "tau", "kernels"))
    model, data = robot.model, robot.model.createData()
    tip = model.getFrameId(robot.tip)
    axes = pinocchio.LOCAL_WORLD_ALIGNED
    functions: dict[str, tuple[tuple, tuple[int, ...], Callable[[], object]]] = {
        "forward_kinematics": (
            (q,),
            (4, 4),
            lambda: pinocchio.framesForwardKinematics(model, data, q),
        ),
        "jacobian": (
            (q,),
            (6, robot.n),
            lambda: pinocchio.computeFrameJacobian(model, data, q, tip, axes),
        ),
        "inverse_dynamics": ((q, v, tau), q.shape, lambda: pinocchio.rnea(model, data, q, v, tau)),
        "mass_matrix": ((q,), (robot.n, robot.n), lambda: pinocchio.crba(model, data, q)),
        "forward_dynamics": ((q, v, tau), q.shape, lambda: pinocchio.aba(model, data, q, v, tau)),
    }
    for name, (arguments, shape, peer) in functions.items():
        inside = _in_place(getattr(kernels.in_place, name), (*arguments, np.empty(shape)))
        words = ", ".join(("q", "v", "tau")[: len(arguments)])
        yield f"kernels.{name}({words})", [inside, Candidate("pinocchio", peer)]
    batch = kernels.in_place.forward_dynamics_batch
    arrays = [names[key] for key in ("qs", "vs", "taus", "out")]
    inside = _in_place(batch, (*arrays, 0, STATES))
    loop = peers.Pinocchio(robot, np.stack([array.T for array in arrays[:3]])).loop()
    for options in ("", ", out=out"):
        yield (
            f"kernels.batch.forward_dynamics(qs, vs, taus{options})",
            [inside, loop._replace(evaluations=1)],
        )


def _in_place(function: Any, arguments: tuple) -> Candidate:
    return Candidate("inside: in place", lambda: function(*arguments))


def _motions(robot: Robot, names: dict[str, Any]) -> Rows:
    """Yield simulations of 1 s with 1,000 samples, and of two steps under several laws."""
    q, v = names["q"], names["v"]
    simulation = Simulation(robot, q, v, Integrator())

    def advance() -> None:
        simulation.reset()
        simulation.advance(1_000_000_000)

    inside = Candidate("inside: without samples", advance)
    peer = peers.mujoco_rollouts(robot, q, v, 1000)
    yield "md.simulate(robot, q, v, tau, 1.0)", [inside, *peer]
    for law in ("tau", "control", "law", "md.gravity_compensation(robot)"):
        yield f"md.simulate(robot, q, v, {law}, 0.002)", []


def _integrations(names: dict[str, Any]) -> Rows:
    """Yield one step, and motions of the RR arm at several tolerances."""
    rhs, y0, p = names["rhs"], names["y0"], names["p"]
    engine = compile_engine(rhs, METHODS["rk4"], Options(size=y0.size))
    space, y = engine.space(step=1e-3), y0.copy()
    inside = Candidate("inside: Engine.go", lambda: engine.go(0.0, 1e-3, p, y, space))
    yield "md.integrate(rhs, (0.0, 1e-3), y0, method='rk4', step=1e-3, p=p)", [inside]
    rr = load_robot("rr")
    for digits in (6, 9, 12):
        yield f"problem_{digits}.solve(y0)", heyoka_call(rr, y0, SPAN, 10.0**-digits)
