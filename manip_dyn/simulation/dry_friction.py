"""Dry friction: sliding and sticking joints, and the friction that holds the sticking ones.

Sticking joints neither move nor accelerate. The friction that holds them follows from the dynamics
of the other joints (locked-joint dynamics)::

    M_ss a_s = tau_s - F_s - h_s,    a_r = 0,    f_r = tau_r - M_rs a_s - h_r

where M is the mass matrix, h = ID(q, v, 0) the bias, F the friction of the sliding joints (s), and
f_r the friction that holds the sticking joints (r). `hold` computes f_r. It does not depend on the
effort law and is compiled once for all arms. The other compiled functions are templates that are
instantiated for each effort law.

A joint sticks after its velocity reaches zero if static friction can hold it. It starts to slide
when the friction that holds it exceeds the static friction. The parameters p of the motion are a
pair: the parameters of the efforts and a reference to `Sliding`. For constant efforts, both
entries are this reference.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.codegen import Kernels
from manip_dyn.codegen.kernel_addresses import addresses, call_kernel
from manip_dyn.codegen.kernels import holding_friction
from manip_dyn.core.arrays import by_reference, part
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.compiled import compiled, inlined
from manip_dyn.core.linking import function_parameter, instantiate, number_parameter
from manip_dyn.core.solvers import factorize, solve
from manip_dyn.integration import Events
from manip_dyn.simulation.feedback import add_law_derivatives, efforts

ROUNDING = 1e-12
"""Relative excess over the static friction that is allowed for a sticking joint."""
PASSED = 1e-13
"""Velocity beyond zero at which a zero crossing is detected, rad/s or m/s."""


class Sliding(NamedTuple):
    """Modes, friction and scratch of the joints.

    Attributes:
        mode: Mode of each joint (n,): 1 or -1 if it slides, 0 if it sticks, 1 without friction.
        coulomb: Coulomb friction (n,), see `Friction`.
        static: Static friction (n,), see `Friction`.
        stribeck: Stribeck velocities (n,), see `Friction`.
        constant: Constant efforts (n,), N m or N; used if there is no effort law.
        efforts: Efforts minus friction (n,), N m or N.
        held: Friction that holds the sticking joints (n,), N m or N.
        bias: Scratch (n,).
        still: Scratch for accelerations (n,).
        mass: Scratch (n, n).
        matrix: Scratch (n, n).
        pivots: Scratch (n,).
        mass_matrix: Address of the kernel `mass_matrix`, see `kernel_addresses`.
        inverse_dynamics: Address of the kernel `inverse_dynamics`.
        motion: Address of the kernel `motion_and_work`.
        linear_motion: Address of the kernel `linear_motion_and_work`; 0 for explicit methods.
    """

    mode: Vector
    coulomb: Vector
    static: Vector
    stribeck: Vector
    constant: Vector
    efforts: Vector
    held: Vector
    bias: Vector
    still: Vector
    mass: Matrix
    matrix: Matrix
    pivots: Vector
    mass_matrix: Any
    inverse_dynamics: Any
    motion: Any
    linear_motion: Any


@compiled(python=False, counted=False)
def hold(y, now, tau):
    """Compute the friction of the sticking joints and subtract it from the efforts.

    Args:
        y: The state (2 n + 1,).
        now: A reference to `Sliding`; ``now.held`` is written.
        tau: Efforts minus the friction of the sliding joints (n,), changed in place.
    """
    n, a = now.still.shape[0], now.still
    q, v = part(y, 0, n), part(y, n, n)
    for i in range(n):
        a[i] = 0.0
    call_kernel(now.inverse_dynamics, (q, v, a, now.bias))
    call_kernel(now.mass_matrix, (q, now.mass))
    for i in range(n):
        slides = now.mode[i] != 0.0
        a[i] = tau[i] - now.bias[i] if slides else 0.0
        for j in range(n):
            both = slides and now.mode[j] != 0.0
            now.matrix[i, j] = now.mass[i, j] if both else 0.0
        if not slides:
            now.matrix[i, i] = 1.0
    factorize(now.matrix, now.pivots)
    solve(now.matrix, now.pivots, a)
    for i in range(n):
        if now.mode[i] == 0.0:
            needed = now.bias[i]
            for j in range(n):
                needed += now.mass[i, j] * a[j]
            now.held[i] = tau[i] - needed
            tau[i] = needed


@number_parameter()
def varies():
    """Return whether the efforts depend on time and state."""
    return 0


@inlined
def constant_efforts(t, y, p, tau):
    """Write the constant efforts (n,) of `Sliding`."""
    for i in range(tau.shape[0]):
        tau[i] = p.constant[i]


@function_parameter()
def distances(t, y, p, out):
    """Write the distances (k,) from the position limits, if these end the motion."""


@inlined
def fall(speed, stribeck):
    """Return the fraction of static minus Coulomb friction that remains at a speed (Stribeck)."""
    if stribeck <= 0.0:
        return 0.0
    ratio = speed / stribeck
    return math.exp(-ratio * ratio)


@inlined
def act(t, y, p, tau):
    """Write the efforts minus friction (n,), and the friction of the sticking joints."""
    law, now = p
    n = tau.shape[0]
    efforts(t, y, law, tau)
    sticks = False
    for i in range(n):
        if now.mode[i] == 0.0:
            sticks = True
        else:
            extra = (now.static[i] - now.coulomb[i]) * fall(y[n + i], now.stribeck[i])
            tau[i] -= now.mode[i] * (now.coulomb[i] + extra)
    if sticks:
        hold(y, now, tau)


@inlined
def move(y, now, tau, out):
    """Write the time derivatives of the state, with 0 for the accelerations of sticking joints.

    Args:
        y: State (2 n + 1,): positions, velocities and dissipated energy.
        now: Workspace with the mode of each joint.
        tau: Efforts (n,) with friction, as computed by the function `act`.
        out: Time derivatives (2 n + 1,), written.
    """
    n = tau.shape[0]
    call_kernel(now.motion, (y, tau, out))
    for i in range(n):
        if now.mode[i] == 0.0:
            out[n + i] = 0.0


@inlined
def judge(t, y, p, out):
    """Write the event functions of `signals`; requires the results of `act`."""
    now = p[1]
    n = now.mode.shape[0]
    for i in range(n):
        if now.static[i] == 0.0:
            out[i] = 1.0
        elif now.mode[i] == 0.0:
            out[i] = now.static[i] * (1.0 + ROUNDING) - abs(now.held[i])
        else:
            out[i] = now.mode[i] * y[n + i] + PASSED
    distances(t, y, p, part(out, n, out.shape[0] - n))


@compiled(python=False)
def rates(t, y, p, out):
    """Write the rates (2 n + 1,) of the state."""
    now = p[1]
    act(t, y, p, now.efforts)
    move(y, now, now.efforts, out)


@compiled(python=False)
def signals(t, y, p, out):
    """Write the event functions (n + k,) of joints and limits, which cross zero downwards."""
    act(t, y, p, p[1].efforts)
    judge(t, y, p, out)


@compiled
def look(t, y, p, tau, out, passing):
    """Write the outputs of `act`, `rates` and `signals` together, for calls from Python."""
    act(t, y, p, tau)
    move(y, p[1], tau, out)
    judge(t, y, p, passing)


@compiled(python=False)
def derivatives(t, y, p, out, by_time):
    """Write the derivatives of the rates, see `Jacobian`."""
    law, now = p
    n = now.mode.shape[0]
    tau = np.empty(n)
    act(t, y, p, tau)
    call_kernel(now.linear_motion, (y, tau, out))
    for i in range(n + 1):
        by_time[i] = 0.0
    if varies():
        add_law_derivatives(t, y, law, n, out, by_time)
    for i in range(n):
        if now.mode[i] != 0.0 and now.stribeck[i] > 0.0:
            extra = (now.static[i] - now.coulomb[i]) * fall(y[n + i], now.stribeck[i])
            slope = 2.0 * now.mode[i] * extra * y[n + i] / (now.stribeck[i] * now.stribeck[i])
            out[i, n + i] += slope
            out[n, n + i] += slope * y[n + i]
    for i in range(n):
        if now.mode[i] == 0.0:
            by_time[i] = 0.0
            for column in range(2 * n + 1):
                out[i, column] = 0.0
            for j in range(n):
                out[i, 2 * n + 1 + j] = 0.0
                out[j, 2 * n + 1 + i] = 0.0
            out[i, 2 * n + 1 + i] = 1.0


KERNELS = "mass_matrix", "inverse_dynamics", "motion_and_work"


class StickSlip:
    """The joints of an arm with dry friction.

    Attributes:
        rate_function: Compiled `rates`.
        derivative_function: Compiled `derivatives`.
        parameters: Parameters p of the compiled functions, see the module docstring.
        events: Transitions of the joints, followed by position limits if they end the motion.
        efforts: Constant efforts (n,); used if there is no effort law.
    """

    def __init__(
        self,
        kernels: Kernels,
        law_efforts: Any,
        limits: Events | None,
        implicit: bool,
        law: tuple[Any, ...] | None,
    ):
        """Bind the compiled motion.

        Args:
            kernels: Kernels of the arm.
            law_efforts: Compiled ``efforts(t, y, p, tau)``; None: constant efforts.
            limits: Position limits that end the motion, or None.
            implicit: Whether derivatives are required.
            law: Parameters of `law_efforts`; None: constant efforts.
        """
        robot = kernels.robot
        n, count = robot.n, limits.count if limits else 0
        arguments = {
            varies: int(law_efforts is not None),
            efforts: law_efforts or constant_efforts,
            distances: limits.function if limits else distances,
        }
        self.rate_function = instantiate(rates, arguments)
        self.derivative_function = instantiate(derivatives, arguments)
        self._look = instantiate(look, arguments)
        self._kernels, self._n = kernels.unchecked, n
        coulomb, static, stribeck = (np.array(values) for values in robot.friction)
        mass_matrix, inverse_dynamics, motion = addresses(robot, *KERNELS)
        linear_motion = addresses(robot, "linear_motion_and_work")[0] if implicit else 0
        self._now = Sliding(
            mode=np.zeros(n),
            coulomb=coulomb,
            static=static,
            stribeck=stribeck,
            constant=np.zeros(n),
            efforts=np.zeros(n),
            held=np.zeros(n),
            bias=np.zeros(n),
            still=np.zeros(n),
            mass=np.zeros((n, n)),
            matrix=np.zeros((n, n)),
            pivots=np.zeros(n),
            mass_matrix=mass_matrix,
            inverse_dynamics=inverse_dynamics,
            motion=motion,
            linear_motion=linear_motion,
        )
        now = by_reference(self._now)
        self.efforts, self.parameters = self._now.constant, (now if law is None else law, now)
        self.events = Events(instantiate(signals, arguments), count=n + count, direction=-1)

    def look(self, t: float, y: Vector) -> tuple[Vector, Vector, Vector]:
        """Return efforts minus friction (n,), rates (2 n + 1,) and event functions (n + k,)."""
        n = self._n
        arrays = np.empty(n), np.empty(2 * n + 1), np.empty(self.events.count)
        self._look(t, y, self.parameters, *arrays)
        return arrays

    def rates(self, t: float, y: Vector) -> Vector:
        """Return the rates (2 n + 1,) of the state."""
        return self.look(t, y)[1]

    def signals(self, t: float, y: Vector) -> Vector:
        """Return the event functions (n + k,), which cross zero at a transition."""
        return self.look(t, y)[2]

    def stop(self, t: float, y: Vector) -> None:
        """Set the velocities of joints that have crossed zero to 0 in the state y (2 n + 1,)."""
        n, mode = self._n, self._now.mode
        passed = (self.signals(t, y)[:n] <= 0.0) & (mode != 0.0)
        y[n : 2 * n][passed] = 0.0

    def settle(self, t: float, y: Vector) -> None:
        """Set the modes after the state y (2 n + 1,): which joints slide, in which direction."""
        n, mode, static = self._n, self._now.mode, self._now.static
        v = y[n : 2 * n]
        mode[:] = np.where(static > 0.0, np.sign(v), 1.0)
        resting = mode == 0.0
        if not resting.any():
            return
        mode[resting] = self._directions(t, y, resting)
        for _ in range(3 * n):  # until consistent with the rates of the loop
            _, rates, signals = self.look(t, y)
            beyond = resting & (mode == 0.0) & (signals[:n] <= 0.0)
            if beyond.any():
                mode[beyond] = np.sign(self._now.held[beyond])
                continue
            reversing = resting & (mode * rates[n : 2 * n] < 0.0)
            if not reversing.any():
                return
            mode[reversing] = 0.0

    def _directions(self, t: float, y: Vector, resting: Vector) -> Vector:
        """Return the sliding directions (k,) of the k resting joints; 0 for joints that stick."""
        n, static = self._n, self._now.static
        tau = self.look(t, y)[0]  # with all resting joints sticking
        held = np.where(resting, self._now.held, 0.0)
        if np.any(np.abs(held) > static):
            q, v = y[:n], y[n : 2 * n]
            drive = tau + held - self._kernels.inverse_dynamics(q, v, np.zeros(n))
            held = holding_friction(static, self._kernels.mass_matrix(q), drive, resting)
        return np.where(np.abs(held) < static, 0.0, np.sign(held))[resting]
