"""Frames of a page, drawn by a Chromium without a screen."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from manip_dyn.core.errors import ManipDynError

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--no-first-run",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
)
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 120.0
"""Wall time that a browser has to open a page, s."""


@contextmanager
def client_of(server: Any, url: str, width: int, height: int) -> Iterator[Any]:
    """Open the page in a browser without a screen; yield viser's client, which can draw it.

    Raises:
        ManipDynError: If there is no browser, or it does not open the page.
    """
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        raise ManipDynError(
            f"pictures need a browser; expected one of {', '.join(BROWSERS)} to be installed"
        )
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        size = f"--window-size={width + 340},{height + 100}"
        command = [program, *FLAGS, f"--user-data-dir={folder}", size, url]
        # A port for nobody: without it a headless browser may end once the page has loaded.
        command.insert(1, "--remote-debugging-port=0")
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield _client(server, process)
        finally:
            process.terminate()
            process.wait()


def frame(client: Any, camera: tuple[np.ndarray, np.ndarray], width: int, height: int) -> Any:
    """Return what is seen from a place towards another (3,), m: (height, width, 3), bytes."""
    place, target = camera
    ahead = (target - place) / np.linalg.norm(target - place)
    right = np.cross(ahead, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    turn = np.column_stack([right, np.cross(ahead, right), ahead])
    from scipy.spatial.transform import Rotation

    wxyz = Rotation.from_matrix(turn).as_quat()[[3, 0, 1, 2]]
    return client.get_render(
        height,
        width,
        wxyz=wxyz,
        position=place,
        fov=client.camera.fov,
        transport_format="png",
        timeout=PATIENCE,
    )


def _client(server: Any, process: subprocess.Popen[bytes]) -> Any:
    deadline = time.monotonic() + PATIENCE
    while not server.get_clients():
        if process.poll() is not None or time.monotonic() > deadline:
            raise ManipDynError("the browser did not open the page")
        time.sleep(0.05)
    return next(iter(server.get_clients().values()))
