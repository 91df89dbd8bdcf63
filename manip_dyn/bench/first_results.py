"""Compute a first result in a new process: ``python -m manip_dyn.bench.first_results NAME``.

The program prints the CPU time of its process in seconds, including startup and imports.
"""

from __future__ import annotations

import sys
import time

import manip_dyn as md


def nothing() -> None:
    """Import the package and the names that most examples use."""
    md.load_robot, md.simulate, md.plan_zero_net_work, md.track  # noqa: B018


def simulate() -> None:
    """Simulate the free fall of the PA-10."""
    rest = [0.0] * 7
    md.simulate(md.load_robot("pa10"), START, rest, effort=rest, duration=1.0)


def zero_net_work() -> None:
    """Plan a zero-net-work motion of the IBM 7535."""
    md.plan_zero_net_work(md.load_robot("ibm7535"), [0.76, 0.2618], [0.0, 0.0])


def minimum_time() -> None:
    """Plan the minimum-time motion of the IBM 7535 in the README."""
    md.plan_minimum_time(md.load_robot("ibm7535"), [0.975, 0.0], [0.0, 0.0])


def track() -> None:
    """Track a circle with the PA-10."""
    import numpy as np
    from pinocchio import rpy

    tool = rpy.rpyToMatrix(0.0, np.pi / 4, 0.0)
    circle = md.Circle(center=[0.0, 0.4, 0.6], normal=[0, 1, 0], start=[-1, 0, 0], rotation=tool)
    md.track(md.load_robot("pa10"), circle, step=0.1, q0=START)


def four_bar() -> None:
    """Simulate the four-bar mechanism with step control."""
    md.multibody.simulate_mechanism(md.multibody.load_mechanism("four_bar"), 1.0)


def hmmwv() -> None:
    """Simulate the HMMWV with fixed steps."""
    vehicle = md.multibody.load_mechanism("hmmwv")
    md.multibody.simulate_mechanism(vehicle, 0.05, step=0.01)


def readme(mass_scale: float = 1.0) -> None:
    """Compute kernels, a simulation, plans and a track of two robots."""
    import numpy as np
    from pinocchio import rpy

    robot = md.load_robot("pa10", mass_scale=mass_scale)
    kernels = md.customize(robot)
    q = np.array(START)
    v, tau = np.zeros(7), np.zeros(7)
    kernels.forward_dynamics(q, v, tau)
    md.simulate(robot, q, v, effort=tau, duration=0.3)
    arm = md.load_robot("ibm7535", mass_scale=mass_scale)
    md.plan_zero_net_work(arm, [0.76, 0.2618], [0.0, 0.0])
    md.plan_minimum_time(arm, [0.975, 0.0], [0.0, 0.0])
    tool = rpy.rpyToMatrix(0.0, np.pi / 4, 0.0)
    circle = md.Circle(center=[0.0, 0.4, 0.6], normal=[0, 1, 0], start=[-1, 0, 0], rotation=tool)
    md.track(robot, circle, step=0.1, q0=q)


def other_robots() -> None:
    """Repeat `readme` with scaled masses, which require new kernels."""
    readme(mass_scale=1.1)


START = [2.69, 0.51, -0.24, 1.42, 0.87, -2.41, -2.0]
RESULTS = {
    "import": nothing,
    "simulate": simulate,
    "zero_net_work": zero_net_work,
    "minimum_time": minimum_time,
    "track": track,
    "four_bar": four_bar,
    "hmmwv": hmmwv,
    "readme": readme,
    "other_robots": other_robots,
}

if __name__ == "__main__":
    RESULTS[sys.argv[1]]()
    print(time.process_time())
