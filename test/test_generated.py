"""The cache of generated modules: shared by processes, and doing without a folder."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import sys, warnings
warnings.simplefilter("always")
import numpy as np, manip_dyn as md
kernels = md.customize(md.load_robot("one_link_vertical"))
print(kernels.inverse_dynamics([0.0], [0.0], [0.0])[0])
"""


def run_with_cache(folder):
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        env=os.environ | {"MANIP_DYN_CACHE": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_concurrent_processes_share_a_fresh_cache(tmp_path):
    processes = [run_with_cache(tmp_path / "cache") for _ in range(3)]
    for process in processes:
        out, log = process.communicate(timeout=60)
        assert process.returncode == 0, log
        assert float(out) == pytest.approx(5.0 * 9.8 * 0.15, abs=1e-12)
    assert len(list((tmp_path / "cache").glob("*.py"))) == 1
    assert not list((tmp_path / "cache").glob("*.tmp"))


def test_unusable_cache_folder_is_one_warning(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    process = run_with_cache(blocked / "cache")
    out, log = process.communicate(timeout=60)
    assert process.returncode == 0, log
    assert float(out) == pytest.approx(5.0 * 9.8 * 0.15, abs=1e-12)
    assert log.count("cannot be written") == 1
    assert "MANIP_DYN_CACHE" in log
