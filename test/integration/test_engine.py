"""Engines: calls from numba code, no allocation, cache on disk."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import problems
import pytest
from fresh import output_of
from numba import njit
from problems import (
    CLASSICAL,
    NO_SCRIPT,
    allocations,
    curve,
    oscillator,
    scripted,
    scripted_engine,
)

import manip_dyn as md
from manip_dyn.integration import METHODS, Options, compile_engine

NOTHING = np.empty(0)


@pytest.mark.parametrize("name", CLASSICAL)
def test_no_loop_allocates(name):
    """A thousand steps allocate as much as one step: the arguments of the call."""
    engine, counts = scripted_engine(name), []
    for t_end in (0.001, 1.0):
        space = engine.space(step=0.001, atol=1e-6, max_step=0.001)
        engine.start(space, 0.0, np.array([t_end, -np.inf, np.inf, 0.0]))

        def go(space=space, engine=engine, t_end=t_end):
            engine.start(space, 0.0, np.array([t_end, -np.inf, np.inf, 0.0]))
            assert engine.advance(NO_SCRIPT, curve(0.0), space) == 0

        counts.append(allocations(go))
    assert counts[0] == counts[1] <= 20


def test_numba_code_calls_an_engine_in_place():
    engine = compile_engine(oscillator, METHODS["rkdp54"], Options(size=2, adaptive=True))
    run, space, y, p = engine.run, engine.space(rtol=1e-9, atol=1e-9), np.zeros(2), NOTHING

    @njit
    def turns(count, p, y, space):
        """Advance `count` times, for example the period of a sampled controller."""
        y[0], y[1] = 1.0, 0.0
        worst, steps = 0, 0
        for _ in range(count):
            worst = max(worst, run(0.0, 2.0 * np.pi, p, y, space))
            steps += space.state.steps
        return worst, steps

    assert turns(10, p, y, space)[0] == 0
    np.testing.assert_allclose(y, [1.0, 0.0], atol=1e-6)
    assert space.state.t == 2.0 * np.pi
    assert allocations(turns, 1, p, y, space) == allocations(turns, 1000, p, y, space)
    turns(1, p, y, space)
    y_python, space_python = np.array([1.0, 0.0]), engine.space(rtol=1e-9, atol=1e-9)
    for _ in range(2):  # whatever has been before
        y_python[:] = 1.0, 0.0
        assert engine.go(0.0, 2.0 * np.pi, p, y_python, space_python) == md.Status.SUCCESS
    np.testing.assert_array_equal(y_python, y)
    assert space_python.clock == space.clock


def test_ten_million_steps_do_not_increase_the_memory():
    def peak():
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

    if not os.path.exists("/proc/self/status"):
        pytest.skip("no /proc")
    md.integrate(oscillator, (0.0, 1.0), [1.0, 0.0], method="rk4", step=0.1, sampling=[1.0])
    before = peak()
    solution = md.integrate(
        oscillator, (0.0, 1e5), [1.0, 0.0], method="rk4", step=0.01, sampling=[1e5]
    )
    assert solution.statistics.steps == 10_000_000
    assert solution.t[-1] == 1e5
    assert peak() - before < 2_000  # kB
    np.testing.assert_allclose(solution.y_last, [np.cos(1e5), -np.sin(1e5)], atol=1e-5)


def test_a_full_record_pauses_the_loop_until_it_is_enlarged():
    engine = compile_engine(oscillator, METHODS["rk4"], Options(size=2))
    y, space = np.array([1.0, 0.0]), engine.space(step=0.1, every_step=True, room=(4, 0, 0))
    engine.start(space, 0.0, np.array([1.0, -np.inf, np.inf, 0.0]))
    assert engine.advance(NOTHING, y, space) == md.Status.PAUSED
    assert space.state.t == pytest.approx(0.4)
    space.state.rows = 0  # read the rows, then use them again
    assert engine.advance(NOTHING, y, space) == md.Status.PAUSED
    space = space.keeping(engine.record(10, 0, 0, degree=3))
    space.state.rows = 0
    assert engine.advance(NOTHING, y, space) == md.Status.SUCCESS
    assert space.state.t == 1.0


SCRIPT = """
import sys, time
sys.path.insert(0, {folder!r})
import numpy as np
from numba import njit
import problems
from manip_dyn.integration import METHODS, Options, compile_engine
engine = compile_engine(problems.oscillator, METHODS["rk4"], Options(size=2))
assert engine.cached
space = engine.space(step=1e-3)
y = np.array([1.0, 0.0])
engine.start(space, 0.0, np.array([np.pi, -np.inf, np.inf, 0.0]))
begin = time.perf_counter()
assert engine.advance(np.empty(0), y, space) == 0
hits = sum(engine.advance.stats.cache_hits.values())
print(hits, y[0], time.perf_counter() - begin)
closure = njit(lambda t, y, p, out: None)
assert compile_engine(closure, METHODS["rk1"], Options(size=2)).cached  # distinguished by its code
"""


def test_another_process_loads_cached_machine_code(tmp_path):
    script = SCRIPT.format(folder=os.path.dirname(problems.__file__))
    hits = []
    for _ in range(2):
        hit, end, _ = output_of(script, MANIP_DYN_CACHE=str(tmp_path / "cache")).split()
        assert float(end) == pytest.approx(-1.0, abs=1e-7)
        hits.append(int(hit))
    assert hits == [0, 1]


def test_the_cache_of_an_engine_depends_on_what_its_function_uses(tmp_path, monkeypatch):
    options = Options(size=2)
    assert compile_engine(scripted, METHODS["rk1"], options) is compile_engine(
        scripted, METHODS["rk1"], options
    )
    monkeypatch.syspath_prepend(tmp_path)
    # Two files of one length within a second have the same bytecode for Python.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    source = (
        "from numba import njit\nRATE = {rate}\n@njit\ndef rhs(t, y, p, out):\n    out[0] = RATE\n"
    )
    ends = []
    for rate in (1.0, 2.0):
        (tmp_path / "rates.py").write_text(source.format(rate=rate))
        sys.modules.pop("rates", None)
        import rates  # written just above

        ends.append(md.integrate(rates.rhs, (0, 1), [0.0], method="rk1", step=1.0).y_last[0])
    assert ends == [1.0, 2.0]


def test_a_problem_is_solved_repeatedly_like_by_integrate():
    rhs = md.customize(md.load_robot("rr")).right_hand_side
    random = np.random.default_rng(1)
    problem = md.problem(rhs, (0.0, 0.3), np.zeros(4), p=np.zeros(2), method="rkdp54", rtol=1e-10)
    for end in (0.3, 3.0, 0.1):  # the second solution enlarges the record
        y0, p = random.uniform(-1.0, 1.0, 4), random.uniform(-1.0, 1.0, 2)
        expected = md.integrate(rhs, (0.0, end), y0, p=p, method="rkdp54", rtol=1e-10)
        solution = problem.solve(y0, (0.0, end), p)
        np.testing.assert_array_equal(solution.t, expected.t)
        np.testing.assert_array_equal(solution.y, expected.y)
        assert solution.statistics == expected.statistics
        assert solution.reason == expected.reason
    assert problem.solve().t_last == 0.3


def test_solutions_do_not_share_memory():
    rhs = md.customize(md.load_robot("rr")).right_hand_side
    problem = md.problem(rhs, (0.0, 0.3), [0.1, 0.2, 0.0, 0.0], p=[0.0, 0.0])
    first = problem.solve()
    before = first.t.copy(), first.y.copy(), first.y_last.copy()
    problem.solve([1.0, 2.0, 3.0, 4.0])
    np.testing.assert_equal((first.t, first.y, first.y_last), before)


def test_several_threads_may_solve_a_problem():
    rhs = md.customize(md.load_robot("rr")).right_hand_side
    problem = md.problem(rhs, (0.0, 1.0), np.zeros(4), p=np.zeros(2))
    starts = np.random.default_rng(2).uniform(-1.0, 1.0, (40, 4))
    expected = [problem.solve(y0).y_last for y0 in starts]
    with ThreadPoolExecutor(4) as pool:
        ends = [solution.y_last for solution in pool.map(problem.solve, starts)]
    np.testing.assert_array_equal(ends, expected)


def test_a_problem_rejects_states_of_another_size():
    rhs = md.customize(md.load_robot("rr")).right_hand_side
    problem = md.problem(rhs, (0.0, 1.0), np.zeros(4), p=np.zeros(2), method="rk4", step=1.0)
    with pytest.raises(md.ManipDynError, match="y0 must have shape"):
        problem.solve(np.zeros(3))
    with pytest.raises(md.ManipDynError, match="t_span must be two different times"):
        problem.solve(t_span=(1.0, 1.0))
    with pytest.raises(md.ManipDynError, match="step must be a number"):  # True equals 1.0
        md.integrate(rhs, (0.0, 1.0), np.zeros(4), p=np.zeros(2), method="rk4", step=True)
