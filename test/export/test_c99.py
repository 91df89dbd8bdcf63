"""Kernels in C: they compile without a warning, their self-tests pass, pinocchio agrees."""

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
from manip_dyn.export.c99.language import (
    DOUBLE,
    SIGNIFICANT,
    SINGLE,
    c_name,
    letters,
    prefix_for,
    sines_preamble,
    sines_text,
)
from manip_dyn.export.selection import USUAL, straight_kernels

STRICT = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"]
COMPILERS = [each for each in ("gcc", "clang") if shutil.which(each)]
pytestmark = pytest.mark.skipif(not COMPILERS, reason="no C compiler: apt install gcc")


def compiled(compiler, folder, *flags):
    """Return the program or library of all sources in a folder."""
    made = folder / f"{compiler}_made"
    sources = sorted(folder.glob("*.c"))
    subprocess.run([compiler, *STRICT, "-O1", *flags, *sources, "-lm", "-o", made], check=True)
    return made


def self_test(compiler, folder, *flags):
    """Return exit code and lines of the self-test of an export."""
    program = compiled(compiler, folder, *flags)
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines()


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
    """Their kernels read few of their arguments: p_q, but not q."""
    robot = md.load_robot("one_link_horizontal")
    md.export_c(robot, tmp_path, straight_kernels(robot), name="arm")
    code, lines = self_test(COMPILERS[0], tmp_path)
    assert (code, lines[-1]) == (0, "0 failures")


def test_a_self_test_can_fail(exported, tmp_path):
    """One wrong digit of a reference value, or a kernel that is not a number."""
    folder, _, precision = exported
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    (file,) = tmp_path.glob("*_selftest.c")
    text = file.read_text()
    place = text.index("expected[4]")
    place = text.index(".", text.index("{", place) + 1) + 2
    digit = "1" if text[place] != "1" else "2"
    file.write_text(text[:place] + digit + text[place + 1 :])
    code, lines = self_test(COMPILERS[0], tmp_path, "-O0")
    assert code == 1
    assert lines[-1] == "1 failures"
    shutil.copy(folder / file.name, file)
    source = next(each for each in tmp_path.glob("*.c") if each != file)
    first = re.compile(r"(_gravity\(.*?out\[0\] = )", re.DOTALL)
    gravity = first.sub(r"\1(0.0f / 0.0f) + ", source.read_text(), count=1)
    source.write_text(gravity)
    assert self_test(COMPILERS[0], tmp_path, "-O0")[0] == 1, precision


def test_names_are_those_that_misra_likes(exported):
    """External names differ in 31 characters; none begins with _ or ends in a bare number."""
    folder, _, _ = exported
    header = next(folder.glob("*.h")).read_text()
    names = re.findall(r"void (\w+)\(", header)
    assert len({each[:SIGNIFICANT] for each in names}) == len(names)
    for file in folder.glob("*.[ch]"):
        not_names = r'/\*.*?\*/|"[^"\n]*"|\b0x[\da-f.]+p[+-]\d+f?'
        code = re.sub(not_names, "", file.read_text(), flags=re.DOTALL)
        words = set(re.findall(r"[A-Za-z_]\w*", code)) - {"__cplusplus"}
        assert [each for each in words if each.startswith("_")] == []
        assert [each for each in words if re.search(r"[A-Za-z_]\d+$", each)] == []
        assert not re.search(r"\b(malloc|calloc|alloca|free)\b", code)


def test_the_header_is_one_of_cpp_too(exported, tmp_path):
    if not shutil.which("g++"):
        pytest.skip("no g++")
    header = next(exported[0].glob("*.h"))
    user = tmp_path / "user.cpp"
    user.write_text(
        f'#include "{header.name}"\n#include "{header.name}"\nint main() {{ return 0; }}\n'
    )
    strict = [each for each in STRICT if each != "-std=c99"]
    command = ["g++", *strict, "-I", header.parent, "-c", user, "-o", tmp_path / "user.o"]
    subprocess.run(command, check=True)


def test_a_robots_long_name_is_cut_short_where_functions_would_be_the_same():
    """Seen: `export --kernels all` asked for --name."""
    every = straight_kernels(md.load_robot("one_link_vertical"))
    for single in (False, True):
        prefix = prefix_for("one_link_vertical", None, single, every)
        assert prefix == ("one_link_verf" if single else "one_link_vert")
        assert len({f"{prefix}_{c_name(each)}"[:SIGNIFICANT] for each in every}) == len(every)
    assert prefix_for("one_link_vertical", None, False, USUAL) == "one_link_vertical"
    assert prefix_for("pa10", None, True, every) == "pa10f"


def test_letters_number():
    words = [letters(k) for k in range(800)]
    assert words[:3] + words[25:28] == ["a", "b", "c", "z", "aa", "ab"]
    assert len(set(words)) == 800


def test_a_long_kernel_in_parts_is_the_same(tmp_path, monkeypatch):
    """What parts leave to one another goes through memory, in slots that are used again."""
    monkeypatch.setattr("manip_dyn.codegen.backend.statements.UNDIVIDED_SIZE", 0)
    monkeypatch.setattr("manip_dyn.codegen.backend.statements.FUNCTION_SIZE", 12)
    robot = md.load_robot("rr")
    md.export_c(robot, tmp_path, ["forward_dynamics", "forward_dynamics_adjoint"])
    source = (tmp_path / "rr.c").read_text()
    assert "static void rr_fd_adjoint_c(" in source
    assert "kept[" in source
    assert self_test(COMPILERS[0], tmp_path)[0] == 0


POINTER = ctypes.POINTER(ctypes.c_double)


def pointers(*arrays):
    return [each.ctypes.data_as(POINTER) for each in arrays]


@pytest.mark.parametrize("name", ["pa10", "tree2"])
def test_pinocchio_agrees(name, tmp_path):
    robot = load(name, tmp_path)
    folder = tmp_path / "c"
    files = md.export_c(robot, folder, ["forward_dynamics", "inverse_dynamics"], name="arm")
    files[2].unlink()  # the self-test, which has a `main`
    library = ctypes.CDLL(str(compiled(COMPILERS[0], folder, "-shared", "-fPIC")))
    random, model, data = np.random.default_rng(0), robot.model, robot.model.createData()
    for turns in (0.0, 0.0, 7.0, 4e5):  # far angles are C's own functions' business
        q, v, tau = random.uniform(-1.0, 1.0, (3, robot.n))
        q[np.array(robot.joint_types) != "prismatic"] += turns * 2.0 * np.pi
        out = np.empty(robot.n)
        library.arm_forward_dynamics(*pointers(q, v, tau, out))
        passive = -robot.damping * v - robot.stiffness * (q - robot.rest)
        expected = pinocchio.aba(model, data, q, v, tau + passive)
        np.testing.assert_allclose(out, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
        library.arm_inverse_dynamics(*pointers(q, v, expected, out))
        np.testing.assert_allclose(out, tau, rtol=0, atol=1e-11 * (1 + np.abs(expected).max()))


def test_what_is_not_finite_comes_out_as_such(tmp_path):
    files = md.export_c(md.load_robot("rr"), tmp_path, ["forward_kinematics"])
    files[2].unlink()
    library = ctypes.CDLL(str(compiled(COMPILERS[0], tmp_path, "-shared", "-fPIC")))
    out = np.zeros(16)
    library.rr_forward_kinematics(*pointers(np.array([np.nan, np.inf]), out))
    assert np.isnan(out[0])


WAYS = [["-O3"]]
if "gcc" in COMPILERS and platform.machine() in ("x86_64", "AMD64"):
    WAYS.append(["-O2", "-std=c99", "-mfpmath=387"])  # which computes with more digits


@pytest.mark.parametrize("way", WAYS, ids=" ".join)
@pytest.mark.parametrize("precision", [DOUBLE, SINGLE], ids=["double", "float"])
def test_sines_and_cosines_are_accurate(precision, way, tmp_path):
    """Against functions of more digits; near multiples of pi/2 and beyond the limit, too."""
    count = 1000
    text = sines_text(precision, "t", count).replace("static void", "void")
    source = tmp_path / "sines.c"
    source.write_text(
        f"#include <stdint.h>\n#define T_RESTRICT restrict\n{sines_preamble('t')}\n{text}"
    )
    made = tmp_path / "sines.so"
    command = [COMPILERS[0], *way, "-shared", "-fPIC", source, "-lm", "-o", made]
    subprocess.run(command, check=True)
    library, random = ctypes.CDLL(str(made)), np.random.default_rng(0)
    quarters = np.round(random.uniform(-500.0, 500.0, count)) * (np.pi / 2.0)
    finer = np.longdouble if precision is DOUBLE else np.float64
    for angles in (
        random.uniform(-10.0, 10.0, count),
        random.uniform(-precision.limit, precision.limit, count),
        quarters * (1.0 + 1e-7 * random.uniform(-1.0, 1.0, count)),
        random.uniform(-1e7, 1e7, count),
    ):
        x = angles.astype(precision.dtype)
        results = np.empty((2, count), precision.dtype)
        places = [ctypes.c_void_p(each.ctypes.data) for each in (x, *results)]
        getattr(library, f"t_{count}_sines")(*places)
        wide = x.astype(finer)
        for result, exact in zip(results, (np.sin(wide), np.cos(wide)), strict=True):
            error = np.abs(result.astype(finer) - exact)
            assert error.max() < 1.5 * precision.rounding
            if precision is DOUBLE:
                assert (error / np.spacing(np.abs(exact).astype(np.float64))).max() < 2.5


def test_the_taylor_series_is_that_of_the_kernels(tmp_path):
    """Any order, efforts that are a polynomial."""
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


def test_exported_again_is_replaced_and_what_is_foreign_stays(tmp_path):
    robot = md.load_robot("one_link_vertical")
    (tmp_path / "main.c").write_text("mine")
    before = {each: each.read_text() for each in md.export_c(robot, tmp_path)}
    assert {each: each.read_text() for each in md.export_c(robot, tmp_path)} == before
    assert (tmp_path / "main.c").read_text() == "mine"
    with pytest.raises(md.ManipDynError, match=r"CMakeLists.txt' is there already and another"):
        md.export_c(robot, tmp_path, precision="float")
    assert set(tmp_path.iterdir()) == {*before, tmp_path / "main.c"}


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_file_of_somebody_else_is_not_touched(tmp_path, kind):
    place = tmp_path / "one_link_vertical.c"
    place.write_text("mine") if kind == "file" else place.mkdir()
    with pytest.raises(md.ManipDynError, match=r"one_link_vertical.c' is there already and not"):
        md.export_c(md.load_robot("one_link_vertical"), tmp_path)
    assert list(tmp_path.iterdir()) == [place]


def test_bad_input_is_refused_and_nothing_is_written(tmp_path):
    robot, place = md.load_robot("one_link_vertical"), tmp_path / "c"
    for words, arguments, named in (
        ("there is no kernel 'forward_dynamic'; did you mean", (["forward_dynamic"],), {}),
        ("kernels is empty", ([],), {}),
        ("precision is 'half'; expected double or float", (), {"precision": "half"}),
        ("there is no kernel 3", (3,), {}),
        ("precision is ['double']; expected double or float", (), {"precision": ["double"]}),
        ("name is '1arm'; expected a C identifier", (), {"name": "1arm"}),
        ("name is 'double'; expected a C identifier", (), {"name": "double"}),
        ("the same in their first 31 characters", (), {"name": "a" * 40}),
        ("did you mean 'link_1'", (), {"frame": "lnk"}),
    ):
        with pytest.raises(md.ManipDynError, match=re.escape(words)):
            md.export_c(robot, place, *arguments, **named)
    with pytest.raises(md.ManipDynError, match="expected a Robot from load_robot"):
        md.export_c("pa10", place)
    for nowhere in (None, "", 3):
        with pytest.raises(md.ManipDynError, match=f"directory is {nowhere!r}; expected a folder"):
            md.export_c(robot, nowhere)
    (tmp_path / "file").write_text("")
    with pytest.raises(md.ManipDynError, match="is a file; expected a folder"):
        md.export_c(robot, tmp_path / "file")
    with pytest.raises(md.ManipDynError, match="cannot be written: Not a directory"):
        md.export_c(robot, tmp_path / "file" / "c")
    assert not place.exists()


def test_what_is_in_loops_is_refused(tmp_path):
    """The dynamics of long chains are straight lines; their derivatives are not."""
    robot = md.load_robot(random_chain(tmp_path, 0, joints=13))
    with pytest.raises(md.ManipDynError, match=r"\(13 joints\) would be too long a straight line"):
        md.export_c(robot, tmp_path / "c", ["forward_dynamics_derivatives"])
    assert "forward_dynamics" in straight_kernels(robot)
    assert "switching_rates" not in straight_kernels(robot)
