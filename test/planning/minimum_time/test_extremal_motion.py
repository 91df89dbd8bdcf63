"""States along an extremal agree with its canonical equations."""

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.planning import Flow, LimitFlow


def test_states_are_computed_without_costates(monkeypatch):
    """Regression: each state integrated all costates and derivatives."""
    robot = md.load_robot("rr")
    plan = md.plan_minimum_time(robot, [0.0, 0.0], [1.0, -0.5], budget=None)
    arcs, flow = plan.switching.arcs(), Flow(robot)
    times = [np.linspace(begin, end, 5)[:-1] for begin, end, _ in arcs]
    expected, y = [], np.concatenate([plan.q0, np.zeros(robot.n), plan.costate(0.0)])
    for (begin, end, controls), inside in zip(arcs, times, strict=True):
        expected += [flow.along(controls).moved(y, t - begin)[: 2 * robot.n] for t in inside]
        y = flow.along(controls).moved(y, end - begin)
    plan.costate(plan.t_final)  # computes and stores the costates at the beginnings of the arcs
    monkeypatch.setattr(LimitFlow, "moved", None)
    states = [np.concatenate(plan.state(t)) for t in np.concatenate(times)]
    assert np.array(states) == pytest.approx(np.array(expected), rel=1e-11, abs=1e-11)
