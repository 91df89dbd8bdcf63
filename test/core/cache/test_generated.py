"""The cache of generated modules: shared by processes, and doing without a folder."""

import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest
from fresh import Fresh

from manip_dyn.core import generated_module

SCRIPT = """
import sys, warnings
warnings.simplefilter("always")
import numpy as np, manip_dyn as md
kernels = md.customize(md.load_robot("one_link_vertical"))
print(kernels.inverse_dynamics([0.0], [0.0], [0.0])[0])
"""


def run_with_cache(folder, script=SCRIPT, **environment):
    return Fresh(script, MANIP_DYN_CACHE=str(folder), **environment)


@pytest.fixture(scope="module")
def used(tmp_path_factory):
    """A cache that a process has used."""
    folder = tmp_path_factory.mktemp("cache")
    code, _, log = run_with_cache(folder).wait()
    assert code == 0, log
    return folder


def test_concurrent_processes_share_a_fresh_cache(tmp_path):
    processes = [run_with_cache(tmp_path / "cache") for _ in range(3)]
    for process in processes:
        code, out, log = process.wait()
        assert code == 0, log
        assert float(out) == pytest.approx(5.0 * 9.8 * 0.15, abs=1e-12)
    assert len(list((tmp_path / "cache").glob("*.py"))) == 1
    assert not list((tmp_path / "cache").glob("*.tmp"))


def test_threads_share_one_complete_module(tmp_path, monkeypatch):
    """Regression: a thread saw the incomplete module that another thread imported."""
    monkeypatch.setenv("MANIP_DYN_CACHE", str(tmp_path))
    source = "import time\ntime.sleep(0.3)\nvalue = 1\n"

    def load(_):
        return generated_module("slow", str(tmp_path).encode(), lambda: source)

    with ThreadPoolExecutor(4) as pool:
        modules = list(pool.map(load, range(4)))
    assert modules[0].value == 1
    assert all(module is modules[0] for module in modules)


def test_an_unusable_cache_folder_causes_one_warning(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    code, out, log = run_with_cache(blocked / "cache").wait()
    assert code == 0, log
    assert float(out) == pytest.approx(5.0 * 9.8 * 0.15, abs=1e-12)
    assert log.count("UserWarning") == 1
    assert "cannot be used" in log
    assert "MANIP_DYN_CACHE" in log


@pytest.mark.parametrize("damage", ["", "garbage(", "import numpy\n"])
def test_a_damaged_file_is_rewritten(used, tmp_path, damage):
    folder = shutil.copytree(used, tmp_path / "cache")
    (file,) = folder.glob("*.py")
    whole = file.read_text()
    file.write_text(damage)
    code, out, log = run_with_cache(folder).wait()
    assert code == 0, log
    assert float(out) == pytest.approx(5.0 * 9.8 * 0.15, abs=1e-12)
    assert file.read_text() == whole


def test_a_disk_too_full_for_machine_code_causes_one_warning(tmp_path):
    full = SCRIPT.replace(
        "kernels =",
        "from manip_dyn.core import atomic_files\n"
        "def no_space(*_, **__): raise OSError(28, 'No space left on device')\n"
        "atomic_files.write_atomically = no_space\n"
        "kernels =",
    )
    code, out, log = run_with_cache(tmp_path, full).wait()
    assert code == 0, log
    assert float(out) == pytest.approx(5.0 * 9.8 * 0.15, abs=1e-12)
    assert log.count("UserWarning") == 1
    assert "No space left on device" in log


def test_the_private_folder_is_removed(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    private = tmp_path / "private"
    private.mkdir()
    code, _, log = run_with_cache(blocked / "cache", TMPDIR=str(private)).wait()
    assert code == 0, log
    assert str(private) not in log
    assert list(private.iterdir()) == []
