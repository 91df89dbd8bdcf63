"""Straight-line kernels: accuracy, allocations, supported types, and batches of states."""

import re

import numba
import numpy as np
import pytest
from arms import load, random_state
from numba.core.errors import TypingError
from numba.core.runtime import _nrt_python, rtsys

import manip_dyn as md
from manip_dyn.codegen import (
    DECLARATIONS,
    LANES,
    Program,
    argument_size,
    many_states,
    one_coefficient,
    one_state,
)

LIMIT = 1e5
"""Angle from which on the C library computes sines."""
STATEMENTS = "manip_dyn.codegen.backend.statements"
BOTH = Program("both", ("x",), 1, "out[0] = sin(x[0])\nout[1] = cos(x[0])")
_one, _lanes = one_state(BOTH), many_states(BOTH, (1,), (2,))


@numba.njit
def singly(x, out):
    for i in range(len(x)):
        _one((x[i],), out[i])


@numba.njit
def in_lanes(x, out):
    _lanes((x,), out, 0, x.shape[1])


def angles():
    rng = np.random.default_rng(0)
    multiples = np.arange(-4000, 4001) * (np.pi / 4)
    special = [
        0.0,
        -0.0,
        5e-324,
        1e-300,
        1e-8,
        LIMIT,
        np.nextafter(LIMIT, np.inf),
        3e5,
        -1e9,
        1e22,
    ]
    random = rng.uniform(-1, 1, 40_000) * 10.0 ** rng.uniform(-9, 5, 40_000)
    values = np.concatenate([special, multiples, np.nextafter(multiples, np.inf), random])
    return values[: len(values) // LANES * LANES]


@pytest.mark.parametrize("lanes", [1, LANES])
def test_sines_and_cosines_have_errors_below_two_units_in_the_last_place(lanes):
    x = angles()
    if lanes == 1:
        out = np.empty((len(x), 2))
        singly(x[:, None].copy(), out)
        out = out.T
    else:
        out = np.empty((2, len(x)))
        in_lanes(x[None, :].copy(), out)
    near = np.abs(x) <= 3e5
    for ours, exact in ((out[0], np.sin), (out[1], np.cos)):
        expected = exact(x.astype(np.longdouble))
        error = np.abs(ours - expected) / np.spacing(np.maximum(np.abs(ours), 1e-300))
        assert error[near].max() < 2.0
        np.testing.assert_allclose(ours, exact(x), rtol=0, atol=2.3e-16)


@pytest.mark.parametrize("lanes", [1, LANES])
def test_sines_of_numbers_that_are_not_finite_are_nan(lanes):
    x = np.array([0.0, np.nan, 1.0, np.inf, -np.inf, 2.0, 3.0, 4.0])
    out = np.empty((len(x), 2))
    if lanes == 1:
        singly(x[:, None].copy(), out)
    else:
        columns = np.empty((2, len(x)))
        in_lanes(x[None, :].copy(), columns)
        out = columns.T
    assert np.isnan(out[[1, 3, 4]]).all()
    finite = np.isfinite(x)
    expected = np.array([np.sin(x[finite]), np.cos(x[finite])]).T
    np.testing.assert_allclose(out[finite], expected, rtol=0, atol=2.3e-16)


KERNELS = [kernel for kernel in DECLARATIONS if kernel.module != "second_derivatives"]


@pytest.mark.parametrize("declaration", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("states", [1, LANES, 2 * LANES + 3])
def test_a_batch_equals_its_states_one_by_one(declaration, states):
    kernels = md.customize(md.load_robot("ibm7535"))
    rng = np.random.default_rng(states)
    arrays = [rng.normal(size=(argument_size(name, 2), states)) for name in declaration.arguments]
    batch = getattr(kernels.batch, declaration.name)(*arrays)
    one = getattr(kernels.unchecked, declaration.name)
    for k in range(states):
        single = one(*(array[:, k].copy() for array in arrays))
        scale = max(1.0, np.abs(single).max())
        np.testing.assert_allclose(batch[..., k], single, atol=1e-14 * scale, rtol=1e-12)


def test_a_batch_does_not_depend_on_the_number_of_threads():
    kernels = md.customize(md.load_robot("pa10"))
    arrays = np.random.default_rng(0).normal(size=(3, 7, 1000))
    expected = kernels.batch.forward_dynamics(*arrays)
    np.testing.assert_array_equal(kernels.batch.forward_dynamics(*arrays, threads=2), expected)
    np.testing.assert_array_equal(kernels.batch.forward_dynamics(*arrays, threads=7), expected)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ([np.zeros((7, 4)), np.zeros((7, 4))], "must be q, v, tau, got 2 array"),
        ([np.zeros(7)] * 3, r"q must have shape \(7, m\) for m states, got shape \(7,\)"),
        ([None] * 3, r"q must have shape \(7, m\) for m states, got None"),
        (
            [np.zeros((7, 4)), np.zeros((7, 5)), np.zeros((7, 4))],
            r"v must have shape \(7, 4\), got \(7, 5\)",
        ),
        ([np.zeros((4, 7))] * 3, r"q must have shape \(7, m\) for m states, got shape \(4, 7\)"),
        ([np.zeros((7, 4)), np.full((7, 4), np.nan), np.zeros((7, 4))], "v must be finite"),
        (
            [np.zeros((7, 4)) * 1j, np.zeros((7, 4)), np.zeros((7, 4))],
            "q must be real numbers, got array",
        ),
    ],
)
def test_invalid_batches_raise_an_error_that_names_the_array(arrays, message):
    with pytest.raises(md.ManipDynError, match=message):
        md.customize(md.load_robot("pa10")).batch.forward_dynamics(*arrays)


def test_a_batch_requires_a_thread():
    arrays = np.zeros((3, 7, 4))
    with pytest.raises(md.ManipDynError, match="threads must be a whole number, 1 or more, got 0"):
        md.customize(md.load_robot("pa10")).batch.forward_dynamics(*arrays, threads=0)
    batch = md.customize(md.load_robot("pa10")).batch
    for threads in (np.int64(2), None):
        assert batch.forward_dynamics(*arrays, threads=threads).shape == (7, 4)


@pytest.mark.parametrize(
    "q",
    [np.zeros(7, np.float32), np.zeros(14)[::2], np.zeros((7, 1)), np.zeros(7, int)],
    ids=["float32", "strided", "matrix", "integers"],
)
def test_in_place_kernels_raise_a_typing_error_for_unsupported_arrays(q):
    kernel = md.customize(md.load_robot("pa10")).in_place.forward_dynamics
    with pytest.raises(TypingError, match=r"q must be a C-contiguous float64"):
        kernel(q, np.zeros(7), np.zeros(7), np.zeros(7))


def test_inputs_may_be_read_only_and_the_output_may_be_an_input():
    kernels = md.customize(md.load_robot("pa10"))
    q, v, tau = random_state(kernels.robot, np.random.default_rng(1))
    expected = kernels.forward_dynamics(q, v, tau)
    for array in (q, v):
        array.setflags(write=False)
    kernels.in_place.forward_dynamics(q, v, tau, tau)
    np.testing.assert_array_equal(tau, expected)


@pytest.mark.parametrize("batched", [False, True])
def test_in_place_kernels_called_from_numba_allocate_no_memory(batched):
    robot = md.load_robot("pa10")
    kernels = md.customize(robot).in_place
    one, many = kernels.forward_dynamics, kernels.forward_dynamics_batch

    @numba.njit
    def repeat(q, v, tau, out, count):
        for _ in range(count):
            one(q, v, tau, out)
            q[0] += 1e-9 * out[0]

    @numba.njit
    def repeat_batch(q, v, tau, out, count):
        for _ in range(count):
            many(q, v, tau, out, 0, q.shape[1])
            q[0, 0] += 1e-9 * out[0, 0]

    arrays = random_state(robot, np.random.default_rng(1))
    run = repeat
    if batched:
        arrays, run = [np.repeat(x[:, None], 11, axis=1) for x in arrays], repeat_batch
    out = np.empty_like(arrays[0])
    run(*arrays, out, 1)
    _nrt_python.memsys_enable_stats()
    allocations = []
    for count in (1, 1000):
        before = rtsys.get_allocation_stats().alloc
        run(*arrays, out, count)
        allocations.append(rtsys.get_allocation_stats().alloc - before)
    # The remaining allocations are those of passing four arrays from Python.
    assert allocations[0] == allocations[1] <= 4
    assert np.isfinite(out).all()


def test_an_empty_range_of_a_batch_writes_nothing():
    kernel = md.customize(md.load_robot("pa10")).in_place.forward_dynamics_batch
    arrays = np.random.default_rng(0).normal(size=(3, 7, 50))
    guarded = np.full((9, 7, 50), 3.0)
    for first, last in ((20, 3), (20, 20), (50, 0)):
        kernel(*arrays, guarded[4], first, last)
    assert np.all(guarded == 3.0)


def test_a_read_only_output_raises_a_typing_error():
    out = np.frombuffer(bytes(56))
    with pytest.raises(TypingError, match="out must be writable"):
        md.customize(md.load_robot("pa10")).in_place.forward_dynamics(*np.zeros((3, 7)), out)


def test_batches_accept_keyword_arguments():
    kernels = md.customize(md.load_robot("ibm7535"))
    q, v, tau = np.random.default_rng(0).normal(size=(3, 2, 5))
    named = kernels.batch.forward_dynamics(q, tau=tau, v=v)
    np.testing.assert_array_equal(named, kernels.batch.forward_dynamics(q, v, tau))
    with pytest.raises(md.ManipDynError, match="must be q, v, tau, got force"):
        kernels.batch.forward_dynamics(q, v, tau, force=tau)


def test_in_place_kernels_propagate_numbers_that_are_not_finite():
    out = np.zeros(2)
    md.customize(md.load_robot("ibm7535")).in_place.forward_dynamics(
        np.array([0.0, np.nan]), np.zeros(2), np.zeros(2), out
    )
    assert np.isnan(out).all()


def test_an_unknown_kernel_is_an_attribute_error():
    kernels = md.customize(md.load_robot("ibm7535"))
    for group in (kernels.in_place, kernels.batch, kernels.unchecked):
        with pytest.raises(AttributeError, match="no kernel 'dynamics'"):
            group.dynamics(1.0)


def test_dir_lists_every_kernel(tmp_path):
    names = dir(md.customize(load("tree2", tmp_path)).in_place)
    assert {"forward_dynamics", "jacobian_rate_batch"} <= set(names)


def long_program(length):
    """Return random arithmetic on recent and on much earlier values."""
    rng = np.random.default_rng(length)
    lines = ["x0 = a[0]", "x1 = b[1]", "x2 = a[1] * b[0]"]
    for i in range(3, length):
        first, second = rng.integers(0, i), rng.integers(max(0, i - 6), i)
        lines.append(
            f"x{i} = {rng.uniform(-0.5, 0.5)} * x{first} {rng.choice(['+', '-'])} x{second}"
        )
    lines += [f"out[{i}] = sin(x{length - 1 - 7 * i})" for i in range(3)]
    return "\n".join(lines)


def divide(monkeypatch, undivided, size):
    """Compile programs that are larger than `undivided` as functions of about `size`."""
    monkeypatch.setattr(f"{STATEMENTS}.UNDIVIDED_SIZE", undivided)
    monkeypatch.setattr(f"{STATEMENTS}.FUNCTION_SIZE", size)


def by_numpy(text, a, b):
    names = {"a": a, "b": b, "out": np.empty((3, *a.shape[1:])), "sin": np.sin}
    exec(text, names)
    return names["out"]


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_a_divided_program_has_the_results_of_the_whole_program(monkeypatch, size):
    text = long_program(200)
    program = Program("long", ("a", "b"), 1, text)
    one, lanes = one_state(program), many_states(program, (2, 2), (3,))

    @numba.njit
    def run_one(a, b, out):
        one((a, b), out)

    @numba.njit
    def run_many(a, b, out):
        lanes((a, b), out, 0, a.shape[1])

    divide(monkeypatch, size, size)
    a, b = np.random.default_rng(0).normal(size=(2, 2, 2 * LANES))
    expected, out = by_numpy(text, a, b), np.empty((3, 2 * LANES))
    run_many(a, b, out)
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-13)
    single = np.empty(3)
    run_one(a[:, 3].copy(), b[:, 3].copy(), single)
    np.testing.assert_allclose(single, expected[:, 3], rtol=1e-12, atol=1e-13)


def test_a_divided_series_has_the_results_of_the_whole_series(monkeypatch):
    text = (
        "c = order * 2.0\nx0 = start[0] + previous[1]\nx1 = x0 * c\nout[0] = x1\nout[1] = x0 - c"
    )
    step = one_coefficient(Program("steps", (), 1, text), 2, ())

    @numba.njit
    def steps(out):
        for k in range(1, out.shape[0]):
            step((), out, k)

    divide(monkeypatch, 2, 2)
    out = np.zeros((4, 2))
    out[0] = 1.5, -0.5
    expected = out.copy()
    steps(out)
    for k in range(1, 4):
        x = expected[0, 0] + expected[k - 1, 1]
        expected[k] = x * 2 * k, x - 2 * k
    np.testing.assert_allclose(out, expected, rtol=1e-15)


@pytest.mark.parametrize("undivided", [12_000, 2])
def test_vectors_of_a_series_are_complete(monkeypatch, undivided):
    """A function of a divided program computes only some of the numbers of a vector."""
    width = 2 * LANES
    lines = [f"out[{LANES + i}] = previous[{LANES + i}] + order * start[{i}]" for i in (5, 0, 2)]
    vectors = (range(LANES, width),)
    step = one_coefficient(Program("steps", (), 1, "\n".join(lines)), width, vectors)

    @numba.njit
    def steps(out):
        for k in range(1, out.shape[0]):
            step((), out, k)

    divide(monkeypatch, undivided, 2)
    out = np.zeros((4, width))
    out[0] = np.arange(width)
    out[1:, :LANES] = 7.0  # not assigned by the program
    expected = out.copy()
    steps(out)
    for k in range(1, 4):
        for i in (5, 0, 2):
            expected[k, LANES + i] = expected[k - 1, LANES + i] + k * i
    np.testing.assert_array_equal(out, expected)


def test_compiling_an_unknown_kernel_suggests_a_name():
    kernels = md.customize(md.load_robot("rr")).in_place
    with pytest.raises(md.ManipDynError, match=r"got 'jacobi'; did you mean 'jacobian'\?"):
        kernels.compile("forward_dynamics", "jacobi")


def test_a_batch_writes_into_an_existing_array():
    kernels = md.customize(md.load_robot("rr"))
    q, v, tau = np.random.default_rng(3).uniform(-1.0, 1.0, size=(3, 2, 21))
    expected = kernels.batch.forward_dynamics(q, v, tau)
    out = np.empty((2, 21))
    for threads in (1, 2, 5):
        out[:] = np.nan
        assert kernels.batch.forward_dynamics(q, v, tau, out=out, threads=threads) is out
        np.testing.assert_array_equal(out, expected)
    matrices = np.empty((2, 2, 21))
    assert kernels.batch.mass_matrix(q, out=matrices) is matrices
    np.testing.assert_array_equal(matrices, kernels.batch.mass_matrix(q))


@pytest.mark.parametrize(
    ("out", "reason"),
    [
        (np.empty((2, 20)), "ndarray of float64 with shape (2, 20)."),
        (np.empty((2, 21), dtype=np.float32), "ndarray of float32 with shape (2, 21)."),
        (np.empty((21, 2)).T, "(not C-contiguous)"),
        (np.broadcast_to(0.0, (2, 21)), "(read-only)"),
        (np.ma.zeros((2, 21)), "MaskedArray of float64"),
        ([[0.0]], "[[0.0]]."),
    ],
)
def test_an_unsuitable_array_for_the_result_is_rejected(out, reason):
    kernels = md.customize(md.load_robot("rr"))
    states = np.zeros((2, 21))
    message = rf"^out must be a writable .* \(2, 21\), got .*{re.escape(reason)}"
    with pytest.raises(md.ManipDynError, match=message):
        kernels.batch.forward_dynamics(states, states, states, out=out)


@pytest.mark.parametrize("dtype", [np.float64, "float32"])
def test_a_batch_rejects_a_result_that_overlaps_an_argument_in_part(dtype):
    batch = md.customize(md.load_robot("rr")).batch
    memory = np.zeros(48, dtype)
    q, shifted, disjoint = (memory[k : k + 18].reshape(2, 9) for k in (0, 8, 30))
    v = tau = np.ones((2, 9), dtype)
    with pytest.raises(md.ManipDynError, match=r"^out must be q or share no memory with it, got"):
        batch.forward_dynamics(q, v, tau, out=shifted, dtype=dtype)
    expected = batch.forward_dynamics(q, v, tau, dtype=dtype)
    for out in (disjoint, memory[:18].reshape(2, 9)):  # the last one is another view of q
        batch.forward_dynamics(q, v, tau, out=out, dtype=dtype)
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("column", [0, 7, 8, 20])
def test_a_batch_rejects_numbers_that_are_not_finite(number, column):
    kernels = md.customize(md.load_robot("rr"))
    q, v, tau = np.zeros((3, 2, 21))
    v[1, column] = number
    with pytest.raises(md.ManipDynError, match=r"^v must be finite numbers"):
        kernels.batch.forward_dynamics(q, v, tau)


@pytest.mark.parametrize("declaration", KERNELS, ids=lambda kernel: kernel.name)
def test_batched_kernels_return_whether_all_numbers_are_finite(declaration):
    robot, states = md.load_robot("rr"), LANES + 2
    kernel = getattr(md.customize(robot).in_place, f"{declaration.name}_batch")
    rng, out = np.random.default_rng(5), np.empty((*declaration.shape(robot.n), states))
    arrays = [rng.normal(size=(argument_size(x, robot.n), states)) for x in declaration.arguments]
    assert kernel(*arrays, out, 0, states)
    for array in arrays:
        for entry in range(len(array)):
            for column in (0, states - 1):
                number, array[entry, column] = array[entry, column], np.nan
                assert not kernel(*arrays, out, 0, states), (entry, column)
                assert kernel(*arrays, out, 1, states - 1), "other columns do not count"
                array[entry, column] = number


def test_a_batch_rejects_an_infinite_number_that_its_result_replaces():
    kernels = md.customize(md.load_robot("rr"))
    q, v, tau = np.zeros((3, 2, 9))
    tau[1, 4] = np.inf
    with pytest.raises(md.ManipDynError, match="must be finite"):
        kernels.batch.forward_dynamics(q, v, tau, out=tau)


@pytest.mark.parametrize("name", ["forward_dynamics", "mass_matrix", "forward_kinematics"])
@pytest.mark.parametrize("states", [1, 16, 37])
def test_a_batch_in_single_precision_has_the_errors_of_its_numbers(name, states):
    batch = md.customize(md.load_robot("pa10")).batch
    arrays = np.random.default_rng(states).uniform(-3.0, 3.0, size=(3, 7, states))
    arrays[0, :, ::5] *= 1e3  # angles beyond the limit of the argument reduction
    arrays = arrays.astype(np.float32)[: 3 if name == "forward_dynamics" else 1]
    exact = getattr(batch, name)(*arrays)
    result = getattr(batch, name)(*arrays, dtype=np.float32)
    assert (exact.dtype, result.dtype) == (np.float64, np.float32)
    axes = tuple(range(exact.ndim - 1))
    assert (np.abs(result - exact) <= 2e-5 * np.abs(exact).max(axis=axes)).all()
    threaded = getattr(batch, name)(*arrays, dtype=np.float32, threads=2)
    np.testing.assert_array_equal(threaded, result)


def test_a_batch_in_single_precision_converts_and_checks_arrays():
    batch = md.customize(md.load_robot("pa10")).batch
    q, v, tau = np.random.default_rng(1).uniform(-1.0, 1.0, size=(3, 7, 5))
    single = [x.astype(np.float32) for x in (q, v, tau)]
    expected = batch.forward_dynamics(*single, dtype=np.float32)
    np.testing.assert_array_equal(batch.forward_dynamics(q, v, tau, dtype=np.float32), expected)
    with pytest.raises(
        md.ManipDynError, match=r"v must be finite numbers in the range of float32, got 1e\+39"
    ):
        batch.forward_dynamics(q, np.full((7, 5), 1e39), tau, dtype=np.float32)
    out = np.empty((7, 5), np.float32)
    assert batch.forward_dynamics(*single, out=out, dtype=np.float32) is out
    np.testing.assert_array_equal(out, expected)
    with pytest.raises(md.ManipDynError, match="out must be a writable C-contiguous float32"):
        batch.forward_dynamics(*single, out=np.empty((7, 5)), dtype=np.float32)
    with pytest.raises(md.ManipDynError, match=r"dtype must be np\.float64 or np\.float32, got"):
        batch.forward_dynamics(q, v, tau, dtype=int)
    with pytest.raises(md.ManipDynError, match="must be finite"):
        batch.forward_dynamics(q, 1e300 * v, tau, dtype=np.float32)
    single[0][3, 4] = np.nan
    with pytest.raises(md.ManipDynError, match="q must be finite"):
        batch.forward_dynamics(*single, dtype=np.float32)
