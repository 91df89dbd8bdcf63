"""Web server of a page, and the timing of its frames."""

from __future__ import annotations

import errno
import logging
import os
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.imports import required_module

LOCALHOST = "127.0.0.1"
PORT = 8080
BLUE = (46, 108, 214)
LIGHT, DARK = (222, 226, 231), (30, 32, 36)
"""Colours of the background."""
EXPOSURE = 0.35
"""Intensity of the environment light. With 0.6, white meshes lose their shades."""


def viser() -> Any:
    """Return the module viser, or raise `ManipDynError` if it is not installed."""
    return required_module("viser", "viewing needs", "view")


def start(host: str = LOCALHOST, port: int = PORT, dark: bool = False) -> Any:
    """Start a `viser.ViserServer` with an empty page.

    Args:
        host: Address to listen on. Default: this machine only. 0.0.0.0: all network interfaces.
        port: Port of the page. If it is in use, the next free one. 0: any free port.
        dark: Whether the page starts in dark mode.

    Raises:
        ManipDynError: If an argument is invalid or viser is not installed.
    """
    library = viser()
    if not 0 <= port < 2**16:
        raise ManipDynError(f"port must be from 0 to 65535, got {port}.")
    _bind(host, 0)
    with _silent():
        server = library.ViserServer(host=host, port=port or _free(host), verbose=False)
    # websockets logs errors for connections that browsers open but do not use.
    logging.getLogger("websockets.server").setLevel(logging.CRITICAL)
    server.gui.set_panel_label("manip_dyn")
    server.gui.main_panel.dock_right()
    theme(server, dark)
    server.scene.set_up_direction("+z")
    server.scene.configure_environment_map("studio", environment_intensity=EXPOSURE)
    return server


def stop(server: Any) -> None:
    """Stop a server."""
    with _silent():
        server.stop()


@contextmanager
def _silent() -> Iterator[None]:
    """Suppress the messages that viser prints by rich, also in notebooks."""
    import rich

    console = rich.get_console()
    console.quiet = True
    try:
        yield
    finally:
        console.quiet = False


def theme(server: Any, dark: bool) -> None:
    """Select light or dark mode, with a background on which white arms are visible."""
    server.scene.set_background_image(np.full((1, 1, 3), DARK if dark else LIGHT, np.uint8))
    server.gui.configure_theme(
        dark_mode=dark, show_logo=False, show_share_button=False, brand_color=BLUE
    )


def address(server: Any) -> str:
    """Return the URL of the server's page."""
    host = server.get_host()
    return f"http://{'localhost' if host in (LOCALHOST, '0.0.0.0') else host}:{server.get_port()}"


def show(url: str) -> None:
    """Open `url` in a browser if there is a display."""
    screen = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    if screen or sys.platform in ("darwin", "win32"):
        webbrowser.open(url)


def check_free(host: str, port: int) -> None:
    """Raise `ManipDynError` if a port of this machine is in use or not permitted."""
    try:
        _bind(host, port)
    except OSError as error:
        raise ManipDynError(
            f"port must be free, got {port}: {error.strerror}. --port 0 selects a free port."
        ) from error


def _free(host: str) -> int:
    return _bind(host, 0)


def _bind(host: str, port: int) -> int:
    """Bind a port for a moment and return it; 0: any free port.

    Raises:
        ManipDynError: If `host` is not an address of this machine.
        OSError: If the port is in use or not permitted.
    """
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[
            0
        ]
    except OSError as error:
        raise ManipDynError(f"host must be an address or a host name, got '{host}'.") from error
    with socket.socket(family, kind, protocol) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(where)
        except OSError as error:
            if error.errno != errno.EADDRNOTAVAIL:
                raise
            raise ManipDynError(
                f"host must be an address of this machine, got '{host}'. 0.0.0.0 selects all "
                "network interfaces."
            ) from error
        return int(probe.getsockname()[1])


RATE = 60.0
"""Frames per second."""


class Frames:
    """Timer for animation frames.

    Frames are due at fixed times, so delays of single waits do not accumulate. A late frame is
    drawn immediately, and the next frames are scheduled from that time. A busy machine therefore
    skips frames instead of drawing them in bursts.
    """

    def __init__(self, stop: threading.Event, now: Callable[[], float] = time.monotonic):
        """Start the timer with the clock `now` (s). It stops when `stop` is set."""
        self._stop, self._now, self._due = stop, now, now()

    def wait(self, rate: float = RATE) -> bool:
        """Wait for the next frame; return False if the timer has stopped.

        Args:
            rate: Number of frames per second.
        """
        self._due += 1.0 / rate
        early = self._due - self._now()
        if early < 0.0:
            self._due -= early
        return not self._stop.wait(max(early, 0.0))
