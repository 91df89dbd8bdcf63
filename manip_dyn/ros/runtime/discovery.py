"""Who may hear the nodes: this machine, unless the environment asks for more."""

from __future__ import annotations

from collections.abc import Mapping

from manip_dyn.core.share import share_directory

RANGE, LOCAL = "ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST"
WIDER = ("ROS_LOCALHOST_ONLY", "ROS_STATIC_PEERS", "ROS_DISCOVERY_SERVER")
"""Environment variables that ask for something else, too."""
PROFILES = ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE")
"""Where Fast DDS finds its profiles: up to version 2, and from version 3."""


def local(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what to add to an environment so that nothing listens beyond this machine.

    Discovery range ``LOCALHOST`` alone lets Fast DDS listen on all addresses; the shipped profile
    ends that.

    Args:
        environment: Environment variables.

    Returns:
        Variables that are not set yet; none if `environment` asks for another range.
    """
    asked = environment.get(RANGE) or LOCAL
    if asked != LOCAL or any(environment.get(name) for name in WIDER):
        return {}
    added = {RANGE: LOCAL}
    if not any(environment.get(name) for name in PROFILES):
        profile = str(share_directory() / "config" / "discovery.xml")
        added |= dict.fromkeys(PROFILES, profile)
    return added
