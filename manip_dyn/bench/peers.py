"""Peers: other libraries that the suites time for comparison, if they are installed."""

from __future__ import annotations

import ctypes
import importlib.util
import logging
import shutil
import subprocess
import tempfile
import warnings
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from functools import partial
from operator import add, mul, sub, truediv
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio

from manip_dyn.bench.timing import Call, Candidate
from manip_dyn.codegen.generation.kernel_source import trace
from manip_dyn.codegen.rigid_body import dynamics
from manip_dyn.codegen.rigid_body.bodies import joint_poses, rigid_bodies
from manip_dyn.codegen.rigid_body.catalogue import BY_NAME
from manip_dyn.codegen.rigid_body.equations import Equations
from manip_dyn.core.checks import Vector
from manip_dyn.integration import METHODS, RungeKutta
from manip_dyn.robot import Robot
from manip_dyn.robot.geometry import without_shapes


def installed(package: str) -> bool:
    """Return whether a package can be imported."""
    return importlib.util.find_spec(package) is not None


class Pinocchio:
    """Candidates that call pinocchio's C++ algorithms for one robot."""

    def __init__(self, robot: Robot, states: Vector):
        """Store m states: q, v, tau (3, m, n)."""
        self._model, self._data = robot.model, robot.model.createData()
        self._states = states

    def loop(self) -> Candidate:
        """Return pinocchio's C++ loop of the forward dynamics over all states, on one thread."""
        pool = pinocchio.ModelPool(self._model, 1)
        columns = [np.asfortranarray(column.T) for column in self._states]
        out = np.zeros_like(columns[0], order="F")

        def run():
            pinocchio.abaInParallel(1, pool, *columns, out)

        return Candidate("pinocchio abaInParallel, 1 thread", run, self._states.shape[1])

    def call(self, function: Callable, arguments: int) -> Call:
        """Return a Python call of an algorithm for the first state.

        Args:
            function: The algorithm.
            arguments: Number of its joint vectors: 1 for q, 3 for q, v and tau.
        """
        model, data = self._model, self._data
        state = [array[0].copy() for array in self._states[:arguments]]
        return lambda: function(model, data, *state)


# --------------------------------------------------------------------------- CasADi
_LOOP = """
void loop(const double *q, const double *v, const double *tau, double *out, int n, int count) {
  const double *arg[64]; double *res[64]; casadi_int iw[1]; double w[1];
  for (int k = 0; k < count; ++k) {
    arg[0] = q + n * k; arg[1] = v + n * k; arg[2] = tau + n * k; res[0] = out + n * k;
    forward_dynamics(arg, res, iw, w, 0);
  }
}
"""


def casadi_loops(robot: Robot, states: Vector) -> list[Candidate]:
    """Return loops of C code that CasADi generates, compiled with gcc -O3 -march=native.

    The first loop is the articulated-body algorithm with the robot's inertias, as a CasADi user
    would write it. The second uses the expressions of this package with base parameters. The list
    is empty if CasADi or gcc is not installed. A loop that does not compile is skipped with a
    warning.
    """
    if not installed("casadi") or shutil.which("gcc") is None:
        return []
    functions = {
        "CasADi C of articulated bodies": _articulated(robot),
        "CasADi C of our equations": Equations(robot, robot.tip_frame).forward_dynamics,
    }
    candidates: list[Candidate] = []
    for name, function in functions.items():
        candidates += _or_nothing(name, partial(_casadi_loop, robot, states, name, function))
    return candidates


def _articulated(robot: Robot) -> Callable:
    rigid, armature = rigid_bodies(robot.bodies), robot.armature.tolist()

    def forward_dynamics(q, v, tau):
        poses = joint_poses(robot.bodies, q)
        resting, gravity = [0.0 * speed for speed in v], robot.gravity.tolist()
        bias = dynamics.inverse_dynamics(robot.bodies, rigid, poses, v, resting, gravity)
        left = [t - b - d * s for t, b, d, s in zip(tau, bias, robot.damping, v, strict=True)]
        return dynamics.solve_by_articulated_bodies(robot.bodies, rigid, poses, armature, left)

    return forward_dynamics


def _casadi_loop(robot: Robot, states: Vector, name: str, function: Callable) -> Candidate:
    import casadi

    n = robot.n
    q, v, tau = (casadi.SX.sym(name, n) for name in ("q", "v", "tau"))
    lists = [[x[i] for i in range(n)] for x in (q, v, tau)]
    result = casadi.vertcat(*function(*lists))
    compiled = casadi.Function("forward_dynamics", [q, v, tau], [result])
    loop = _compiled_loop(compiled)
    out = np.empty_like(states[0])
    pointers = [x.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for x in (*states, out)]
    count = states.shape[1]
    return Candidate(name, lambda: loop(*pointers, n, count), count)


def _compiled_loop(function):
    """Compile a CasADi function with gcc and return a C loop over many states."""
    import casadi

    folder = Path(tempfile.mkdtemp(prefix="manip_dyn_bench_"))
    generator = casadi.CodeGenerator("kernel.c")
    generator.add(function)
    source, library = folder / "kernel.c", folder / "kernel.so"
    source.write_text(generator.dump() + _LOOP, encoding="utf-8")
    command = [
        *("gcc", "-O3", "-march=native", "-shared", "-fPIC"),
        *(str(source), "-o", str(library), "-lm"),
    ]
    subprocess.run(command, check=True)
    loop = ctypes.CDLL(str(library)).loop
    shutil.rmtree(folder)
    return loop


# --------------------------------------------------------------------- MuJoCo, Drake
def whole_step_calls(robot: Robot, states: Vector) -> list[Candidate]:
    """Return Python calls of the forward dynamics of MuJoCo and Drake, if installed.

    Their models are loaded from the URDF, without the payload and the springs of the YAML file.
    """
    candidates: list[Candidate] = []
    for package, make in (("mujoco", _mujoco_call), ("pydrake", _drake_call)):
        if installed(package):
            candidates += _or_nothing(package, partial(make, robot, states))
    return candidates


def _or_nothing(peer: str, make: Callable[[], Candidate]) -> list[Candidate]:
    """Return the candidate of a peer as a list; warn and return [] if the peer fails."""
    try:
        return [make()]
    except (RuntimeError, ValueError, OSError, subprocess.CalledProcessError) as error:
        reason = " ".join(str(error).split())
        warnings.warn(f"{peer} is skipped: {reason[:200]}", stacklevel=2)
        return []


def bare_urdf(urdf: str) -> str:
    """Return a URDF without shapes, so that peers do not require mesh files."""
    return ElementTree.tostring(without_shapes(urdf), encoding="unicode")


def _mujoco_call(robot: Robot, states: Vector) -> Candidate:
    import mujoco

    model = mujoco.MjModel.from_xml_string(bare_urdf(robot.urdf))
    model.dof_armature[:], model.opt.gravity[:] = robot.armature, robot.gravity
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.qfrc_applied[:] = states[:, 0]
    return Candidate("MuJoCo mj_forward", lambda: mujoco.mj_forward(model, data))


def mujoco_rollouts(robot: Robot, q: Vector, v: Vector, steps: int) -> list[Candidate]:
    """Return `mujoco.rollout` with RK4 and steps of 1 ms from (q, v), or [] without MuJoCo."""
    if not installed("mujoco"):
        return []
    return _or_nothing("mujoco", partial(_mujoco_rollout, robot, q, v, steps))


def _mujoco_rollout(robot: Robot, q: Vector, v: Vector, steps: int) -> Candidate:
    import mujoco
    from mujoco import rollout

    model = mujoco.MjModel.from_xml_string(bare_urdf(robot.urdf))
    model.dof_armature[:], model.opt.gravity[:] = robot.armature, robot.gravity
    model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, 1e-3
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = q, v
    kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
    state = np.zeros((1, mujoco.mj_stateSize(model, kind)))
    mujoco.mj_getState(model, data, state[0], kind)
    return Candidate(
        "mujoco.rollout, RK4", lambda: rollout.rollout(model, data, state, nstep=steps)
    )


def _drake_call(robot: Robot, states: Vector) -> Candidate:
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant

    logging.getLogger("drake").setLevel(logging.ERROR)
    plant = MultibodyPlant(time_step=0.0)
    Parser(plant).AddModelsFromString(bare_urdf(robot.urdf), "urdf")
    plant.WeldFrames(plant.world_frame(), plant.GetFrameByName(robot.base))
    plant.Finalize()
    context = plant.CreateDefaultContext()
    q, v, tau = states[:, 0]
    plant.get_actuation_input_port().FixValue(context, tau[: plant.num_actuators()])
    derivatives = plant.AllocateTimeDerivatives()

    def run():
        # Setting the state invalidates the results that Drake caches.
        plant.SetPositions(context, q)
        plant.SetVelocities(context, v)
        plant.CalcTimeDerivatives(context, derivatives)

    return Candidate("Drake MultibodyPlant CalcTimeDerivatives", run)


# ----------------------------------------------------------------------- equations of motion
_OPERATORS = {"add": add, "subtract": sub, "multiply": mul, "divide": truediv}


def rates_of(robot: Robot, sin: Callable, cos: Callable, number: Callable = float) -> Callable:
    """Return ``rates(y, tau)``, the equations of motion for the number type of a library.

    The function evaluates the expression graph of the robot with the library's operators. The
    state `y` and the result have 2 n entries, and `tau` has n. Without `tau`, all efforts are 0.

    Args:
        robot: The arm.
        sin: Sine function of the library.
        cos: Cosine function of the library.
        number: Conversion from a float to the library's number type.
    """
    function = trace(Equations(robot, robot.tip_frame), BY_NAME["motion"])
    operations = function.graph.operations
    needed = function.graph.needed_for(function.outputs)

    def rates(y: Sequence[Any], tau: Sequence[Any] | None = None) -> list[Any]:
        values: dict[int, Any] = {}
        efforts = [number(0.0)] * robot.n if tau is None else tau
        for index in needed:
            kind, operands, content = operations[index]
            arguments = [values[operand] for operand in operands]
            if kind == "constant":
                values[index] = number(content)
            elif kind == "input":
                name, entry = str(content).rstrip("]").split("[")
                values[index] = (y if name == "y" else efforts)[int(entry)]
            elif kind in ("sin", "cos"):
                values[index] = (sin if kind == "sin" else cos)(arguments[0])
            else:
                values[index] = _OPERATORS[kind](*arguments)
        return [
            -values[output.node] if output.negative else values[output.node]
            for output in function.outputs
        ]

    return rates


def extended_precision_end(
    robot: Robot, y0: Sequence[float], duration: float, steps: int
) -> np.ndarray:
    """Integrate the free motion over `duration` (s) by RK10 with fixed steps; return its end.

    The computation is in extended precision. The result (2 n,) is rounded to double precision.
    """
    method = METHODS["rk10"]
    assert isinstance(method, RungeKutta)
    table = method.tableau
    extended = np.longdouble
    rates = rates_of(robot, np.sin, np.cos, extended)
    y, h = np.array(y0, dtype=extended), extended(duration) / steps
    for _ in range(steps):
        slopes: list[np.ndarray] = []
        for row in table.a:
            terms = [float(a) * k for a, k in zip(row, slopes, strict=False) if a]
            slopes.append(np.array(rates(y + h * sum(terms)), dtype=extended))
        y = y + h * sum(float(b) * k for b, k in zip(table.b, slopes, strict=True))
    return y.astype(np.float64)
