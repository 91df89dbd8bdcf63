"""`view`: a page in the browser that shows what was computed."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

from manip_dyn.core.errors import ManipDynError
from manip_dyn.multibody import Mechanism
from manip_dyn.robot import Robot
from manip_dyn.viewer.motions.results import KINDS, motion_of
from manip_dyn.viewer.page.afterwards import AfterwardsPage
from manip_dyn.viewer.page.server import LOCALHOST, PORT, address, show, start, stop


class View:
    """A page that is shown.

    Attributes:
        url: Where it is.
        server: The `viser.ViserServer` behind it, for what else is to be drawn.
    """

    def __init__(self, server: Any, page: AfterwardsPage):
        """Keep the page."""
        self.server, self._page = server, page
        self.url = address(server)

    def __repr__(self) -> str:
        """Return where the page is."""
        return f"View({self.url})"

    def wait(self) -> None:
        """Keep the page until Ctrl-C."""
        try:
            while True:
                time.sleep(3600.0)
        except KeyboardInterrupt:
            self.close()

    def close(self) -> None:
        """End the page."""
        self._page.close()
        stop(self.server)


def view(
    *results: Any,
    robot: Robot | None = None,
    mechanism: Mechanism | None = None,
    titles: Sequence[str] = (),
    host: str = LOCALHOST,
    port: int = PORT,
    dark: bool = False,
    browser: bool = True,
    wait: bool | None = None,
) -> View:
    """Show results in the browser; several move side by side.

    Needs the package's extra ``view``. The page needs no network.

    Args:
        results: Each a `Plan`, `PathTiming`, `Trajectory`, `TrackResult`, `MechanismMotion` or
            `Recording`; a `Robot` stands still, with a slider for each joint.
        robot: The arm of each `Trajectory` and `TrackResult`.
        mechanism: That of each `MechanismMotion`.
        titles: What is told beside each, in order; left out: what it is.
        host: Who may open the page: this machine, or with 0.0.0.0 everybody who reaches it.
        port: Where; the next one that is free, 0: any.
        dark: Whether it begins dark.
        browser: Whether to open a browser where there is a screen.
        wait: Whether to keep the page until Ctrl-C; None: in a script, not in a notebook or at
            a prompt.

    Raises:
        ManipDynError: If something cannot be viewed, or viser is not installed.
    """
    if not results:
        raise ManipDynError(f"there is nothing to view; expected {KINDS}")
    if len(titles) > len(results):
        raise ManipDynError(f"there are {len(titles)} titles; expected {len(results)} at most")
    told = [*titles, *[""] * (len(results) - len(titles))]
    motions = [
        motion_of(result, robot, mechanism, title)
        for result, title in zip(results, told, strict=True)
    ]
    server = start(host, port, dark)
    shown = View(server, AfterwardsPage(server, motions, dark))
    if wait is None:
        wait = not hasattr(sys, "ps1") and "ipykernel" not in sys.modules
    print(f"manip_dyn: {shown.url}{', until Ctrl-C' if wait else ''}", flush=True)
    if browser:
        show(shown.url)
    if wait:
        shown.wait()
    return shown
