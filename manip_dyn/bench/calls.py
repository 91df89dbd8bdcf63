"""`manip_dyn bench calls`: documented calls from Python, the code inside them, and peers' calls.

The first candidate of each row is the call in its title. "inside" is the compiled code that the
call runs, with existing arrays. The other candidates are calls of peers for the same problem:
pinocchio, `mujoco.rollout` and `propagate_until` of heyoka. Batches have 1 to 32,768 states; their
times are per state. All rows use one thread. Takes about 60 s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pinocchio

import manip_dyn as md
from manip_dyn.bench import peers
from manip_dyn.bench.integrators import heyoka_call, inside_solver
from manip_dyn.bench.timing import Candidate, Timing, compare, documented, timing_lines
from manip_dyn.integration import METHODS, Options, compile_engine
from manip_dyn.robot import Robot, load_robot
from manip_dyn.simulation import Integrator, Simulation

PACKAGES = ("manip_dyn", "numba", "numpy", "pin", "mujoco", "heyoka")
STATES = (1, 8, 512, 32768)
"""Numbers of states in a batch."""
SPAN = 5.0
"""Duration of the motion of the RR arm, s."""


class Row(NamedTuple):
    """Timings of a documented call, of the code inside, and of the peers' calls.

    `states` is the number of states in a batch, whose times are per state; 0 for other calls.
    """

    call: str
    timings: list[Timing]
    states: int = 0


def table(rows: Sequence[Row]) -> str:
    """Return one table per call."""
    lines = ["Medians of CPU time over interleaved rounds, and of the ratios to the call."]
    for row in rows:
        states = f"; states: {row.states}, times per state" if row.states else ""
        lines += [f"\n{row.call}{states}", *timing_lines(row.timings)]
    return "\n".join(lines)


def measure(robot: Robot | None = None) -> list[Row]:
    """Time the calls for a robot (default: the PA-10) and for the motion of the RR arm."""
    robot = robot or load_robot("pa10")
    names = values_of(robot)
    rows = [
        Row(call, compare([Candidate("the call", documented(call, names)), *others]))
        for call, others in (*_kernels(robot, names), *_motions(robot, names))
    ]
    return [*rows, *_batches(robot), *_integrations(names)]


def values_of(robot: Robot) -> dict[str, Any]:
    """Return the variables of the documented calls by name."""
    q, v, tau = np.random.default_rng(0).uniform(-1.0, 1.0, (3, robot.n))
    return {
        "md": md,
        "robot": robot,
        "kernels": md.customize(robot),
        "q": q,
        "v": v,
        "tau": tau,
        "control": md.PDControl(q, 100.0, 10.0),
        "law": lambda t, q, v: -v,
        "rhs": md.customize(load_robot("rr")).right_hand_side,
        "y0": np.array([0.5, 0.3, 0.0, 0.0]),
        "p": np.zeros(2),
    }


Rows = Iterator[tuple[str, list[Candidate]]]


def _kernels(robot: Robot, names: dict[str, Any]) -> Rows:
    """Yield calls of kernels for one state."""
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


def _in_place(function: Any, arguments: tuple) -> Candidate:
    return Candidate("inside: in place", lambda: function(*arguments))


def _batches(robot: Robot) -> Iterator[Row]:
    """Time batches of states: with a new result, with `out`, and in single precision."""
    kernels = md.customize(robot)
    call = "kernels.batch.forward_dynamics(qs, vs, taus)"
    with_out = call.replace(")", ", out=out)")
    with_dtype = call.replace(")", ", out=out, dtype=np.float32)")
    for states in STATES:
        random = np.random.default_rng(0)
        arrays = [random.uniform(-1.0, 1.0, (robot.n, states)) for _ in range(4)]
        names: dict[str, Any] = {"kernels": kernels, "np": np}
        names |= zip(("qs", "vs", "taus", "out"), arrays, strict=True)
        single = names | {
            key: names[key].astype(np.float32) for key in ("qs", "vs", "taus", "out")
        }
        batch = kernels.in_place.forward_dynamics_batch
        loop = peers.Pinocchio(robot, np.stack([array.T for array in arrays[:3]])).loop()
        candidates = [
            Candidate("the call", documented(call, names)),
            Candidate("with out=out", documented(with_out, names)),
            _in_place(batch, (*arrays, 0, states)),
            Candidate("with out=out, dtype=np.float32", documented(with_dtype, single)),
            loop,
        ]
        timings = compare([candidate._replace(evaluations=states) for candidate in candidates])
        yield Row(call, timings, states)


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


def _integrations(names: dict[str, Any]) -> Iterator[Row]:
    """Time one step, and motions of the RR arm at several tolerances."""
    rhs, y0, p = names["rhs"], names["y0"], names["p"]
    engine = compile_engine(rhs, METHODS["rk4"], Options(size=y0.size))
    space, y = engine.space(step=1e-3), y0.copy()
    call = "md.integrate(rhs, (0.0, 1e-3), y0, method='rk4', step=1e-3, p=p)"
    step = Candidate("the call", documented(call, names))
    inside = Candidate("inside: Engine.go", lambda: engine.go(0.0, 1e-3, p, y, space))
    yield Row(call, compare([step, inside]))
    rr = load_robot("rr")
    for tolerance, method in ((1e-6, "rkdp87"), (1e-9, "taylor"), (1e-12, "taylor")):
        options = f"method='{method}', rtol={tolerance:g}, atol={tolerance:g}, p=p"
        values = names | {"rhs": md.customize(rr).series if method == "taylor" else rhs}
        whole = f"(rhs, (0.0, {SPAN}), y0, {options})"
        values["problem"] = documented(f"md.problem{whole}", values)()
        inside = Candidate("inside: Engine.run", inside_solver(rr, y0, SPAN, method, tolerance))
        others = [inside, *heyoka_call(rr, y0, SPAN, tolerance)]
        for call in (f"problem.solve(y0)  # md.problem{whole}", f"md.integrate{whole}"):
            candidate = Candidate("the call", documented(call.partition("  #")[0], values))
            yield Row(call, compare([candidate, *others]))
