"""Animation in the README: three motions of an arm to the same goal.

``python -m manip_dyn.viewer.picture docs/pictures/race.webp`` renders it with headless Chromium.
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
from manip_dyn.viewer.playback import ResultsPage
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
TIMEOUT = 120.0
"""Largest wall time (s) for the browser to open the page or to render a frame."""
WIDTH, HEIGHT = 960, 480
"""Size of a frame, pixels."""
RATE = 14
"""Frames per second."""
SLOWDOWN = 1.6
"""Duration of the animation relative to the motion."""
DURATION = 2.9
"""Duration of the motion, s."""
CLOCK = 22
"""Height of the letters of the running time, pixels."""
WARM_UP = 3
"""Number of frames that are rendered and not shown."""
LAST_FRAME = 0.8
"""Display time of the last frame, s."""
START, GOAL = (2.0, 1.5), (0.0, 0.0)
"""Joint positions, rad."""
BANDWIDTH = 4.5
"""Bandwidth of the critically damped feedback, 1/s."""
CAMERA = np.array([2.5, 0.22, 2.05]), np.array([0.05, 0.0, 0.32])
"""Position (3,) and target (3,) of the camera in m."""


@contextmanager
def client_of(server: Any, url: str, width: int, height: int) -> Iterator[Any]:
    """Open the page in a headless browser and yield its viser client.

    Raises:
        ManipDynError: If no browser is installed, or the page does not open.
    """
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        raise ManipDynError(f"pictures require a browser: install one of {', '.join(BROWSERS)}.")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        size = f"--window-size={width + 340},{height + 100}"
        command = [program, *FLAGS, f"--user-data-dir={folder}", size, url]
        # Without a debugging port, a headless browser may exit after loading the page.
        command.insert(1, "--remote-debugging-port=0")
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield _client(server, process)
        finally:
            process.terminate()
            process.wait()


def frame(client: Any, camera: tuple[np.ndarray, np.ndarray], width: int, height: int) -> Any:
    """Return a rendered frame (height, width, channels), uint8.

    Args:
        client: The viser client that renders the frame.
        camera: Position (3,) and target (3,) of the camera, m.
        width: Width of the frame, pixels.
        height: Height of the frame, pixels.
    """
    position, target = camera
    ahead = (target - position) / np.linalg.norm(target - position)
    right = np.cross(ahead, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    rotation = np.column_stack([right, np.cross(ahead, right), ahead])
    from scipy.spatial.transform import Rotation

    wxyz = Rotation.from_matrix(rotation).as_quat()[[3, 0, 1, 2]]
    return client.get_render(
        height,
        width,
        wxyz=wxyz,
        position=position,
        fov=client.camera.fov,
        transport_format="png",
        timeout=TIMEOUT,
    )


def _client(server: Any, process: subprocess.Popen[bytes]) -> Any:
    deadline = time.monotonic() + TIMEOUT
    while not server.get_clients():
        if process.poll() is not None or time.monotonic() > deadline:
            raise ManipDynError("the browser did not open the page.")
        time.sleep(0.05)
    return next(iter(server.get_clients().values()))


def race() -> list[Motion]:
    """Return three motions to the same goal: minimum time, zero net work and feedback."""
    robot = load_robot("ibm7535")
    plans = [plan_minimum_time(robot, START, GOAL), plan_zero_net_work(robot, START, GOAL)]
    trajectory = feedback(robot, 4.0)
    arrival = arrival_time(trajectory)
    titles = [
        f"minimum time {plans[0].t_final:.2f} s",
        f"zero net work {plans[1].t_final:.2f} s",
        f"feedback {arrival:.2f} s",
    ]
    return [
        motion_of(result, robot, title=title)
        for result, title in zip([*plans, trajectory], titles, strict=True)
    ]


def feedback(robot: Robot, duration: float) -> Trajectory:
    """Return a motion of `duration` (s) under PD control, critically damped at the goal."""
    inertia = np.diag(customize(robot).mass_matrix(np.array(GOAL)))
    stiffness, damping = inertia * BANDWIDTH**2, inertia * 2.0 * BANDWIDTH

    def efforts(_t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return stiffness * (np.array(GOAL) - q) - damping * v

    return simulate(robot, START, np.zeros(robot.n), efforts, duration)


def arrival_time(motion: Trajectory, tolerance: float = 0.01) -> float:
    """Return the time (s) after which all joints remain within `tolerance` (rad) of the goal.

    Raises:
        ManipDynError: If the motion ends outside the tolerance.
    """
    away = np.flatnonzero(np.abs(motion.q - np.array(GOAL)).max(axis=1) > tolerance)
    if away.size and away[-1] == len(motion.t) - 1:
        raise ManipDynError("the feedback does not reach the goal. Simulate a longer motion.")
    return float(motion.t[away[-1] + 1]) if away.size else 0.0


def frames(motions: list[Motion], width: int = WIDTH, height: int = HEIGHT) -> list[Any]:
    """Render the frames of the animation as uint8 arrays."""
    server = start(port=0)
    server.scene.set_background_image(None)  # it belongs to the camera of the page
    page = ResultsPage(server, motions, dark=False, playing=False)
    try:
        with client_of(server, address(server), width, height) as client:
            assert page.player is not None
            images = []
            for _ in range(WARM_UP):  # the page loads its light after the first frames
                frame(client, CAMERA, width, height)
                time.sleep(1.0)
            for t in np.arange(0.0, DURATION, 1.0 / (RATE * SLOWDOWN)):
                page.player.seek(float(t))
                images.append(with_clock(frame(client, CAMERA, width, height), float(t)))
            return images
    finally:
        page.close()
        stop(server)


def save(images: list[Any], file: str | Path) -> None:
    """Write frames to an animated WebP or GIF file, depending on its suffix."""
    from PIL import Image

    first, *rest = (Image.fromarray(flat(image)) for image in images)
    durations = [round(1000 / RATE)] * len(rest) + [round(1000 * LAST_FRAME)]
    first.save(
        file, save_all=True, append_images=rest, duration=durations, loop=0, quality=70, method=6
    )


def with_clock(image: Any, t: float) -> Any:
    """Return a frame with the time `t` (s) in the upper left corner."""
    from PIL import Image, ImageDraw, ImageFont

    picture = Image.fromarray(flat(image))
    text, font = f"{t:.2f} s", ImageFont.load_default(CLOCK)
    ImageDraw.Draw(picture).text((CLOCK, CLOCK), text, fill=(60, 66, 74), font=font)
    return np.asarray(picture)


def flat(image: Any) -> Any:
    """Return an image without its alpha channel, blended with a white background."""
    if image.shape[2] == 3:
        return image
    alpha = image[:, :, 3:].astype(float) / 255.0
    return (image[:, :, :3] * alpha + 255.0 * (1.0 - alpha)).round().astype(np.uint8)


if __name__ == "__main__":
    save(frames(race()), sys.argv[1])
