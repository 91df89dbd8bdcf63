"""Animated picture of the README: three motions of an arm to one goal.

``python -m manip_dyn.viewer.picture docs/pictures/race.webp`` draws it with a headless Chromium.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.core.errors import ManipDynError
from manip_dyn.planning import plan_minimum_time, plan_zero_net_work
from manip_dyn.robot import Robot, load_robot
from manip_dyn.simulation import Trajectory, simulate
from manip_dyn.viewer.motions import motion_of
from manip_dyn.viewer.playback import AfterwardsPage
from manip_dyn.viewer.scene import Motion
from manip_dyn.viewer.server import address, start, stop

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


WIDTH, HEIGHT = 760, 380
RATE = 14
"""Frames per second."""
SLOWER = 1.6
"""Seconds of film for one of motion."""
LASTS = 2.9
"""s of motion."""
STILL = 0.8
"""How long the last frame stays, s of film."""
START, GOAL = (2.0, 1.5), (0.0, 0.0)
"""rad."""
BANDWIDTH = 4.5
"""Of the critically damped feedback, whose efforts saturate as those of the plans, 1/s."""


def race() -> list[Motion]:
    """Return an arm's motions to the same goal by zero net work, minimum time and feedback."""
    robot = load_robot("ibm7535")
    plans = [plan_minimum_time(robot, START, GOAL), plan_zero_net_work(robot, START, GOAL)]
    fed_back = feedback(robot, 4.0)
    arrival = arrival_time(fed_back)
    titles = [
        f"minimum time {plans[0].t_final:.2f} s",
        f"zero net work {plans[1].t_final:.2f} s",
        f"feedback {arrival:.2f} s",
    ]
    return [
        motion_of(result, robot, title=title)
        for result, title in zip([*plans, fed_back], titles, strict=True)
    ]


def feedback(robot: Robot, duration: float) -> Trajectory:
    """Return the motion by feedback of positions and velocities, critically damped at the goal."""
    inertia = np.diag(customize(robot).mass_matrix(np.array(GOAL)))
    stiffness, damping = inertia * BANDWIDTH**2, inertia * 2.0 * BANDWIDTH

    def efforts(_t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return stiffness * (np.array(GOAL) - q) - damping * v

    return simulate(robot, START, np.zeros(robot.n), efforts, duration)


def arrival_time(motion: Trajectory, tolerance: float = 0.01) -> float:
    """Return from when on all joints are within a tolerance of the goal, rad, s."""
    away = np.flatnonzero(np.abs(motion.q - np.array(GOAL)).max(axis=1) > tolerance)
    if away.size and away[-1] == len(motion.t) - 1:
        raise ManipDynError("the feedback does not arrive; expected a longer motion")
    return float(motion.t[away[-1] + 1]) if away.size else 0.0


def frames(motions: list[Motion], width: int = WIDTH, height: int = HEIGHT) -> list[Any]:
    """Return the frames of a film (height, width, 3), bytes, from begin to end."""
    server = start(port=0)
    page = AfterwardsPage(server, motions, dark=False, playing=False)
    try:
        with client_of(server, address(server), width, height) as client:
            assert page.player is not None  # these motions do move
            found = []
            for t in np.arange(0.0, LASTS, 1.0 / (RATE * SLOWER)):
                page.player.seek(float(t))
                found.append(frame(client, camera(), width, height))
            return found
    finally:
        page.close()
        stop(server)


def camera() -> tuple[np.ndarray, np.ndarray]:
    """Return from where, and where to, the film looks (3,), m."""
    return np.array([2.75, 0.25, 2.25]), np.array([0.05, 0.0, 0.32])


def save(found: list[Any], file: str | Path) -> None:
    """Write frames into an animated file, WebP or GIF by its name."""
    from PIL import Image

    images = [Image.fromarray(flat(each)) for each in found]
    durations = [round(1000 / RATE)] * (len(images) - 1) + [round(1000 * STILL)]
    first, *rest = images
    first.save(
        file, save_all=True, append_images=rest, duration=durations, loop=0, quality=70, method=6
    )


def flat(image: Any) -> Any:
    """Return an image on white where it is transparent."""
    if image.shape[2] == 3:
        return image
    share = image[:, :, 3:].astype(float) / 255.0
    return (image[:, :, :3] * share + 255.0 * (1.0 - share)).round().astype(np.uint8)


if __name__ == "__main__":
    save(frames(race()), sys.argv[1])
