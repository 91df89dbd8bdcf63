"""Server of a page and schedule of its frames."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Callable
from typing import Any

from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.imports import required_module

LOCALHOST = "127.0.0.1"
PORT = 8080
BLUE = (46, 108, 214)


def viser() -> Any:
    """Return the library that the page is made with."""
    return required_module("viser", "viewing needs", "view")


def start(host: str = LOCALHOST, port: int = PORT, dark: bool = False) -> Any:
    """Return a server, which is a `viser.ViserServer` with an empty page.

    Args:
        host: Who may open it: this machine only, or everybody with 0.0.0.0.
        port: Where; the next free one if it is taken, 0: any.
        dark: Whether the page begins with light letters on dark.
    """
    library = viser()
    if not 0 <= port < 2**16:
        raise ManipDynError(f"port is {port}; expected 0 to 65535")
    try:
        socket.getaddrinfo(host, None)
    except OSError as error:
        raise ManipDynError(f"host '{host}' is unknown; expected an address or a name") from error
    with contextlib.redirect_stdout(io.StringIO()):  # its greeting
        server = library.ViserServer(host=host, port=port or _free(host), verbose=False)
    # A browser opens connections that it then does not use: no error of anybody's.
    logging.getLogger("websockets.server").setLevel(logging.CRITICAL)
    server.gui.set_panel_label("manip_dyn")
    server.gui.main_panel.dock_right()
    theme(server, dark)
    server.scene.set_up_direction("+z")
    server.scene.configure_environment_map("studio", environment_intensity=0.6)
    return server


def stop(server: Any) -> None:
    """End a server."""
    with contextlib.redirect_stdout(io.StringIO()):  # its good-bye
        server.stop()


def theme(server: Any, dark: bool) -> None:
    """Let the page be light or dark."""
    server.gui.configure_theme(
        dark_mode=dark, show_logo=False, show_share_button=False, brand_color=BLUE
    )


def address(server: Any) -> str:
    """Return where the page is."""
    host = server.get_host()
    return f"http://{'localhost' if host in (LOCALHOST, '0.0.0.0') else host}:{server.get_port()}"


def show(url: str) -> None:
    """Open a browser where there is a screen."""
    screen = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    if screen or sys.platform in ("darwin", "win32"):
        webbrowser.open(url)


def _free(host: str) -> int:
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


RATE = 60.0
"""Frames per second."""


class Frames:
    """Waits for the next frame.

    Frames are due on a fixed schedule, so that waits that last a little longer do not add up. One
    that comes too late is drawn at once and the schedule begins anew from there: a busy machine
    draws fewer of them, and never many after one another.
    """

    def __init__(self, stop: threading.Event, now: Callable[[], float] = time.monotonic):
        """Begin; once `stop` is set nothing more is due."""
        self._stop, self._now, self._due = stop, now, now()

    def wait(self, rate: float = RATE) -> bool:
        """Wait until a frame is due, at so many a second; False: there is none any more."""
        self._due += 1.0 / rate
        early = self._due - self._now()
        if early < 0.0:
            self._due -= early
        return not self._stop.wait(max(early, 0.0))
