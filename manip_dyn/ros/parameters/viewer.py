"""The viewer's parameters."""

from __future__ import annotations

from dataclasses import dataclass

from manip_dyn.ros.parameters.rows import default_of, parameter
from manip_dyn.viewer.page.server import start


@dataclass(frozen=True)
class ViewerParameters:
    """Where the page is."""

    host: str = parameter(
        default_of(start, "host"),
        "Who may open the page: this machine only, or with 0.0.0.0 everybody who reaches it",
    )
    port: int = parameter(
        default_of(start, "port"),
        "Its port; the next free one if it is taken, 0: any",
        "",
        0,
        65535,
    )
    dark: bool = parameter(default_of(start, "dark"), "Whether the page begins dark")
    open_browser: bool = parameter(False, "Whether a browser is opened where there is a screen")
    meshes: str = parameter(
        "", "Folders of the packages whose meshes a URDF names, between colons"
    )
