"""The braking curve's numbers are those of SciPy's dense output, and time follows from place."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from manip_dyn.planning.execution.braking_trace import BrakingTrace


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_it_is_the_dense_solution_and_its_inverse(sign):
    """A pendulum braked to rest at its goal, backwards in time."""

    def rates(_t, y):
        return [-y[1], sign * 4.0 - np.sin(y[0])]

    found = solve_ivp(
        rates, (0.0, 0.7), [0.3, 0.0], "DOP853", rtol=1e-13, atol=1e-14, dense_output=True
    )
    trace = BrakingTrace(found.sol, sign)
    assert trace.duration == 0.7
    for time in np.linspace(0.0, 0.7, 60):
        q, v = found.sol(time)
        assert trace.position(time) == pytest.approx(q, abs=1e-15)
        assert trace.velocity(time) == pytest.approx(v, abs=2e-15)
        # near rest the place hardly changes with time
        assert trace.time_at(q) == pytest.approx(time, abs=min(1e-15 / max(time, 1e-9), 1e-7))
    for time in found.t:
        assert trace.position(trace.time_at(found.sol(time)[0])) == pytest.approx(
            found.sol(time)[0], abs=1e-15
        )
    assert trace.time_at(0.3 + sign) == 0.0
    assert trace.time_at(found.y[0, -1] - sign) == 0.7
