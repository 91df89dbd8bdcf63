"""Kernels in C compile without warnings, pass their self-tests and agree with pinocchio."""

import ctypes
import itertools
import platform
import re
import shutil
import subprocess

import numpy as np
import pinocchio
import pytest
from arms import load, random_chain

import manip_dyn as md
from manip_dyn.export import straight_kernels

SIGNIFICANT = 31
"""Significant characters of external names that C99 guarantees."""

STRICT = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"]
COMPILERS = [compiler for compiler in ("gcc", "clang") if shutil.which(compiler)]
pytestmark = pytest.mark.skipif(not COMPILERS, reason="no C compiler: apt install gcc")


def compiled(compiler, folder, *flags):
    """Return the executable or library of all sources in a folder."""
    binary = folder / f"{compiler}_binary"
    sources = sorted(folder.glob("*.c"))
    subprocess.run([compiler, *STRICT, "-O1", *flags, *sources, "-lm", "-o", binary], check=True)
    return binary


def self_test(compiler, folder, *flags):
    """Return exit code and lines of the self-test of an export."""
    program = compiled(compiler, folder, *flags)
    process = subprocess.run([program], capture_output=True, text=True, check=False)
    return process.returncode, process.stdout.splitlines()


@pytest.fixture(scope="module", params=["double", "float"])
def exported(request, tmp_path_factory):
    """All kernels of the RR arm."""
    folder, robot = tmp_path_factory.mktemp("rr"), md.load_robot("rr")
    kernels = straight_kernels(robot)
    md.export_c(robot, folder, kernels, precision=request.param, ros=True)
    return folder, kernels, request.param


@pytest.mark.parametrize("compiler", COMPILERS)
def test_every_kernel_passes_its_self_test(exported, compiler):
    folder, kernels, _ = exported
    code, lines = self_test(compiler, folder)
    assert code == 0
    assert lines[-1] == "0 failures"
    assert len(lines) == 1 + 4 * len(kernels)


def test_kernels_of_one_joint_compile_without_a_warning(tmp_path):
    """Some arguments are unused, for example q."""
    robot = md.load_robot("one_link_horizontal")
    md.export_c(robot, tmp_path, straight_kernels(robot), name="arm")
    code, lines = self_test(COMPILERS[0], tmp_path)
    assert (code, lines[-1]) == (0, "0 failures")


def test_the_self_test_detects_errors(exported, tmp_path):
    """A wrong digit of a reference value, and NaN as a result."""
    folder, _, precision = exported
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    (file,) = tmp_path.glob("*_selftest.c")
    text = file.read_text()
    index = text.index("expected[4]")
    index = text.index(".", text.index("{", index) + 1) + 2
    digit = "1" if text[index] != "1" else "2"
    file.write_text(text[:index] + digit + text[index + 1 :])
    code, lines = self_test(COMPILERS[0], tmp_path, "-O0")
    assert code == 1
    assert lines[-1] == "1 failures"
    shutil.copy(folder / file.name, file)
    source = next(path for path in tmp_path.glob("*.c") if path != file)
    first = re.compile(r"(_gravity\(.*?out\[0\] = )", re.DOTALL)
    gravity = first.sub(r"\1(0.0f / 0.0f) + ", source.read_text(), count=1)
    source.write_text(gravity)
    assert self_test(COMPILERS[0], tmp_path, "-O0")[0] == 1, precision


def test_names_follow_misra(exported):
    """External names differ in 31 characters; none begins with _ or ends in a number."""
    folder, _, _ = exported
    header = next(folder.glob("*.h")).read_text()
    names = re.findall(r"void (\w+)\(", header)
    assert len({name[:SIGNIFICANT] for name in names}) == len(names)
    for file in folder.glob("*.[ch]"):
        not_names = r'/\*.*?\*/|"[^"\n]*"|\b0x[\da-f.]+p[+-]\d+f?'
        code = re.sub(not_names, "", file.read_text(), flags=re.DOTALL)
        words = set(re.findall(r"[A-Za-z_]\w*", code)) - {"__cplusplus"}
        assert [word for word in words if word.startswith("_")] == []
        assert [word for word in words if re.search(r"[A-Za-z_]\d+$", word)] == []
        assert not re.search(r"\b(malloc|calloc|alloca|free)\b", code)


def test_the_header_compiles_as_cpp(exported, tmp_path):
    if not shutil.which("g++"):
        pytest.skip("no g++")
    header = next(exported[0].glob("*.h"))
    user = tmp_path / "user.cpp"
    user.write_text(
        f'#include "{header.name}"\n#include "{header.name}"\nint main() {{ return 0; }}\n'
    )
    strict = [flag for flag in STRICT if flag != "-std=c99"]
    command = ["g++", *strict, "-I", header.parent, "-c", user, "-o", tmp_path / "user.o"]
    subprocess.run(command, check=True)


def test_long_names_of_robots_are_shortened(tmp_path):
    """Function names would otherwise be equal in their significant characters."""
    robot = md.load_robot("one_link_vertical")
    kernels = straight_kernels(robot)
    for precision, prefix in (("double", "one_link_vert"), ("float", "one_link_verf")):
        header, *_ = md.export_c(robot, tmp_path / precision, kernels, precision=precision)
        assert header.name == f"{prefix}.h"
        functions = re.findall(r"void (\w+)\(", header.read_text())
        assert len({name[:SIGNIFICANT] for name in functions}) == len(kernels)
    header, *_ = md.export_c(robot, tmp_path / "default")
    assert header.name == "one_link_vertical.h"
    header, *_ = md.export_c(md.load_robot("pa10"), tmp_path / "pa10", precision="float")
    assert header.name == "pa10f.h"


def test_a_divided_kernel_passes_its_self_test(tmp_path, monkeypatch):
    """Shared values use memory slots, which are reused."""
    monkeypatch.setattr("manip_dyn.codegen.backend.statements.UNDIVIDED_SIZE", 0)
    monkeypatch.setattr("manip_dyn.codegen.backend.statements.FUNCTION_SIZE", 12)
    robot = md.load_robot("rr")
    md.export_c(robot, tmp_path, ["forward_dynamics", "forward_dynamics_adjoint"])
    source = (tmp_path / "rr.c").read_text()
    assert "static void rr_fd_adjoint_c(" in source
    assert "shared[" in source
    assert self_test(COMPILERS[0], tmp_path)[0] == 0


POINTER = ctypes.POINTER(ctypes.c_double)


def pointers(*arrays):
    return [array.ctypes.data_as(POINTER) for array in arrays]


@pytest.mark.parametrize("name", ["pa10", "tree2"])
def test_kernels_agree_with_pinocchio(name, tmp_path):
    robot = load(name, tmp_path)
    folder = tmp_path / "c"
    files = md.export_c(robot, folder, ["forward_dynamics", "inverse_dynamics"], name="arm")
    files[2].unlink()  # the self-test has a `main`
    library = ctypes.CDLL(str(compiled(COMPILERS[0], folder, "-shared", "-fPIC")))
    random, model, data = np.random.default_rng(0), robot.model, robot.model.createData()
    for turns in (0.0, 0.0, 7.0, 4e5):  # the C library computes sines of large angles
        q, v, tau = random.uniform(-1.0, 1.0, (3, robot.n))
        q[np.array(robot.joint_types) != "prismatic"] += turns * 2.0 * np.pi
        out = np.empty(robot.n)
        library.arm_forward_dynamics(*pointers(q, v, tau, out))
        passive = -robot.damping * v - robot.stiffness * (q - robot.rest)
        expected = pinocchio.aba(model, data, q, v, tau + passive)
        np.testing.assert_allclose(out, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
        library.arm_inverse_dynamics(*pointers(q, v, expected, out))
        np.testing.assert_allclose(out, tau, rtol=0, atol=1e-11 * (1 + np.abs(expected).max()))


def test_numbers_that_are_not_finite_propagate(tmp_path):
    files = md.export_c(md.load_robot("rr"), tmp_path, ["forward_kinematics"])
    files[2].unlink()
    library = ctypes.CDLL(str(compiled(COMPILERS[0], tmp_path, "-shared", "-fPIC")))
    out = np.zeros(16)
    library.rr_forward_kinematics(*pointers(np.array([np.nan, np.inf]), out))
    assert np.isnan(out[0])


FLAGS = [["-O3"]]
if "gcc" in COMPILERS and platform.machine() in ("x86_64", "AMD64"):
    FLAGS.append(["-O2", "-std=c99", "-mfpmath=387"])  # computes with more digits


@pytest.mark.parametrize("flags", FLAGS, ids=" ".join)
@pytest.mark.parametrize(
    ("precision", "kind", "finer", "limit"),
    [("double", np.float64, np.longdouble, 1e5), ("float", np.float32, np.float64, 8000.0)],
)
def test_sines_and_cosines_are_accurate(precision, kind, finer, limit, flags, tmp_path):
    """Compared with more digits, near multiples of pi/2, and above the limit of the reduction."""
    robot, count = md.load_robot("one_link_horizontal"), 1000
    files = md.export_c(robot, tmp_path, ["forward_kinematics"], precision=precision, name="arm")
    library = tmp_path / "arm.so"
    command = [COMPILERS[0], *flags, "-shared", "-fPIC", files[1], "-lm", "-o", library]
    subprocess.run(command, check=True)
    function = ctypes.CDLL(str(library)).arm_forward_kinematics
    random = np.random.default_rng(0)
    quarters = np.round(random.uniform(-500.0, 500.0, count)) * (np.pi / 2.0)
    for angles in (
        random.uniform(-10.0, 10.0, count),
        random.uniform(-limit, limit, count),
        quarters * (1.0 + 1e-7 * random.uniform(-1.0, 1.0, count)),
        random.uniform(-1e7, 1e7, count),
    ):
        x = angles.astype(kind)
        poses = np.empty((count, 4, 4), kind)
        for i in range(count):
            function(ctypes.c_void_p(x[i:].ctypes.data), ctypes.c_void_p(poses[i].ctypes.data))
        exact = np.array([np.cos(x.astype(finer)), np.sin(x.astype(finer))])
        error = np.abs(poses[:, :2, 0].T.astype(finer) - exact)
        assert error.max() < 1.5 * np.finfo(kind).eps / 2.0
        if precision == "double":
            assert (error / np.spacing(np.abs(exact).astype(np.float64))).max() < 2.5


def test_the_taylor_series_equals_that_of_the_kernels(tmp_path):
    """For several orders, with constant and polynomial efforts."""
    robot, order = md.load_robot("rr"), 9
    files = md.export_c(robot, tmp_path, ["taylor"])
    files[2].unlink()
    header = (tmp_path / "rr.h").read_text()
    width = int(re.search(r"TAYLOR_WIDTH (\d+)", header).group(1))
    library = ctypes.CDLL(str(compiled(COMPILERS[0], tmp_path, "-shared", "-fPIC")))
    q, v, *tau = np.random.default_rng(0).uniform(-1.0, 1.0, (5, 2))
    for rows, degree in itertools.product((1, 3), (0, 1, 2, order)):
        efforts, work = np.array(tau[:rows]), np.zeros(max(degree, 1) * width)
        out = np.full((degree + 2, 2), 7.0)
        library.rr_taylor(*pointers(q, v, efforts), rows, degree, *pointers(work, out))
        expected = md.customize(robot).taylor(q, v, efforts, degree)
        np.testing.assert_allclose(out[:-1], expected, rtol=1e-11, atol=1e-12)
        assert (out[-1] == 7.0).all()


def test_an_export_replaces_only_files_of_the_same_export(tmp_path):
    robot = md.load_robot("one_link_vertical")
    (tmp_path / "main.c").write_text("mine")
    before = {file: file.read_text() for file in md.export_c(robot, tmp_path)}
    assert {file: file.read_text() for file in md.export_c(robot, tmp_path)} == before
    assert (tmp_path / "main.c").read_text() == "mine"
    with pytest.raises(md.ManipDynError, match=r"CMakeLists.txt' exists and belongs to another"):
        md.export_c(robot, tmp_path, precision="float")
    assert set(tmp_path.iterdir()) == {*before, tmp_path / "main.c"}


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_foreign_files_are_not_modified(tmp_path, kind):
    path = tmp_path / "one_link_vertical.c"
    path.write_text("mine") if kind == "file" else path.mkdir()
    with pytest.raises(md.ManipDynError, match=r"one_link_vertical.c' exists and is not"):
        md.export_c(md.load_robot("one_link_vertical"), tmp_path)
    assert list(tmp_path.iterdir()) == [path]


def test_nothing_is_written_for_invalid_arguments(tmp_path):
    robot, folder = md.load_robot("one_link_vertical"), tmp_path / "c"
    for message, arguments, options in (
        (
            "kernels must be names of kernels, got 'forward_dynamic'; did you mean",
            (["forward_dynamic"],),
            {},
        ),
        ("kernels must not be empty", ([],), {}),
        ("precision must be double or float, got 'half'", (), {"precision": "half"}),
        ("kernels must be names of kernels, got 3", (3,), {}),
        ("precision must be double or float, got ['double']", (), {"precision": ["double"]}),
        ("such as 'pa10', got '1arm'", (), {"name": "1arm"}),
        ("such as 'pa10', got 'double'", (), {"name": "double"}),
        ("the same in their first 31 characters", (), {"name": "a" * 40}),
        ("did you mean 'link_1'", (), {"frame": "lnk"}),
    ):
        with pytest.raises(md.ManipDynError, match=re.escape(message)):
            md.export_c(robot, folder, *arguments, **options)
    with pytest.raises(md.ManipDynError, match="must be a Robot from load_robot"):
        md.export_c("pa10", folder)
    for directory in (None, "", 3):
        message = f"directory must be a folder, got {directory!r}"
        with pytest.raises(md.ManipDynError, match=message):
            md.export_c(robot, directory)
    (tmp_path / "file").write_text("")
    with pytest.raises(md.ManipDynError, match="directory must be a folder, got the file"):
        md.export_c(robot, tmp_path / "file")
    with pytest.raises(md.ManipDynError, match="cannot be written: Not a directory"):
        md.export_c(robot, tmp_path / "file" / "c")
    assert not folder.exists()


def test_kernels_in_loops_cannot_be_exported(tmp_path):
    """The dynamics of long chains are straight-line code; their derivatives are not."""
    robot = md.load_robot(random_chain(tmp_path, 0, joints=15))
    with pytest.raises(md.ManipDynError, match=r"of at most 14 joints, .* got 15 joints"):
        md.export_c(robot, tmp_path / "c", ["forward_dynamics_derivatives"])
    assert "forward_dynamics" in straight_kernels(robot)
    assert "switching_rates" not in straight_kernels(robot)
