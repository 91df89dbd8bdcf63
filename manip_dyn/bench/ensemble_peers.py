"""The peers of `bench ensembles`: whatever of them is installed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from manip_dyn.bench.graphs import motion
from manip_dyn.bench.peers import bare_urdf, installed
from manip_dyn.bench.timing import Candidate
from manip_dyn.core.checks import Matrix


def mujoco_rollout(given: Any, duration: float, step: float, threads: int) -> list[Candidate]:
    """Return `mujoco.rollout` with MuJoCo's own RK4, all motions in one call on all threads."""
    if not installed("mujoco"):
        return []
    try:
        run = mujoco_motions(given, duration, step, threads)
    except ValueError:  # it refuses links that are points
        return []
    return [Candidate(f"mujoco.rollout, {threads} threads", run, len(given.starts))]


def mujoco_motions(given: Any, duration: float, step: float, threads: int) -> Callable:
    """Return what rolls motions out and returns their ends (N, 2 n)."""
    import mujoco
    from mujoco import rollout

    robot, count = given.robot, len(given.starts)
    model = mujoco.MjModel.from_xml_string(bare_urdf(robot.urdf))
    model.dof_armature[:], model.opt.gravity[:] = robot.armature, robot.gravity
    model.dof_damping[:], model.opt.timestep = robot.damping, step
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    datas = [mujoco.MjData(model) for _ in range(threads)]
    steps = round(duration / step)
    full = int(mujoco.mjtState.mjSTATE_FULLPHYSICS)
    initial = np.zeros((count, mujoco.mj_stateSize(model, full)))
    initial[:, 1 : 1 + 2 * robot.n] = given.starts  # behind the time
    efforts = np.repeat(given.efforts[:, None], steps, axis=1)
    kind = int(mujoco.mjtState.mjSTATE_QFRC_APPLIED)
    state = np.zeros((count, steps, initial.shape[1]))

    def run() -> Matrix:
        states, _ = rollout.rollout(model, datas, initial, efforts, control_spec=kind, state=state)
        return states[:, -1, 1 : 1 + 2 * robot.n]

    return run


def frax_motions(given: Any, duration: float, step: float) -> list[Candidate]:
    """Return frax's mass matrix and bias in RK4, jitted and mapped over the motions by JAX."""
    if not (installed("frax") and installed("jax")):
        return []
    import jax
    from frax.core.robot import Robot as FraxRobot

    jax.config.update("jax_enable_x64", True)
    robot, steps = given.robot, round(duration / step)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "arm.urdf"
        file.write_text(bare_urdf(robot.urdf), encoding="utf-8")
        arm = FraxRobot(os.fspath(file))
    n = robot.n

    rotors = jax.numpy.diag(robot.armature)  # which frax's own forward dynamics leaves out

    def rate(y, tau):
        q, v = y[:n], y[n:]
        left = tau - robot.damping * v - arm.nonlinear_bias(q, v)
        a = jax.scipy.linalg.solve(arm.mass_matrix(q) + rotors, left, assume_a="pos")
        return jax.numpy.concatenate([v, a])

    def one(y, tau):
        def advance(_, y):
            k1 = rate(y, tau)
            k2 = rate(y + 0.5 * step * k1, tau)
            k3 = rate(y + 0.5 * step * k2, tau)
            k4 = rate(y + step * k3, tau)
            return y + step / 6.0 * (k1 + 2.0 * (k2 + k3) + k4)

        return jax.lax.fori_loop(0, steps, advance, y)

    run = jax.jit(jax.vmap(one))
    return [
        Candidate(
            "frax, jit and vmap",
            lambda: run(given.starts, given.efforts).block_until_ready(),
            len(given.starts),
        )
    ]


def heyoka_batches(
    given: Any, duration: float, tolerances: Sequence[float]
) -> list[tuple[str, Callable[[], Matrix]]]:
    """Return heyoka's batch integrators, as many motions in SIMD lanes as it recommends."""
    if not installed("heyoka"):
        return []
    import heyoka

    robot = given.robot
    width = heyoka.recommended_simd_size()
    variables = heyoka.make_vars(*[f"y{i}" for i in range(2 * robot.n)])
    rates = motion(robot, heyoka.sin, heyoka.cos, heyoka.expression)(variables)
    system = list(zip(variables, rates, strict=True))
    found: list[tuple[str, Callable[[], Matrix]]] = []
    for tolerance in tolerances:
        integrator = heyoka.taylor_adaptive_batch(
            system, given.starts[:width].T.copy(), tol=tolerance, fast_math=True
        )

        def run(integrator=integrator) -> Matrix:
            ends = np.empty_like(given.starts)
            for first in range(0, len(ends), width):
                integrator.set_time(0.0)
                integrator.state[:] = given.starts[first : first + width].T
                integrator.propagate_until(duration)
                ends[first : first + width] = integrator.state.T
            return ends

        found.append((f"heyoka, batches of {width}, {tolerance:.0e}", run))
    return found
