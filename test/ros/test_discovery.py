"""Discovery: by default a node listens on this machine only."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from harness import TIMEOUT

from manip_dyn.ros import PROFILES, RANGE, local_discovery

LISTENING = """
import os, re
from manip_dyn import ManipDynError
from manip_dyn.ros import run
from pathlib import Path

class Look:
    name = "look"
    def __init__(self, node):
        own = {os.readlink(path) for path in Path("/proc/self/fd").iterdir() if path.is_symlink()}
        for protocol in ("udp", "udp6", "tcp", "tcp6"):
            for line in Path("/proc/net", protocol).read_text().splitlines()[1:]:
                words = line.split()
                if f"socket:[{words[9]}]" in own:
                    print(protocol, words[1])
        raise ManipDynError("seen enough")

run(Look)
"""


def listening(**environment):
    """Return the addresses at which a node receives, hexadecimal as in /proc/net.

    Ephemeral ports are excluded: Fast DDS only sends from them.
    """
    first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    without = {name: value for name, value in os.environ.items() if name not in (RANGE, *PROFILES)}
    done = subprocess.run(
        [sys.executable, "-c", LISTENING],
        env=without | environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=True,
    )
    pairs = [line.split()[1].split(":") for line in done.stdout.splitlines()]
    return {address for address, port in pairs if int(port, 16) < first}


@pytest.mark.skipif(not Path("/proc/net/udp").exists(), reason="the kernel shows no sockets")
def test_a_node_listens_on_this_machine_only_by_default():
    assert listening() == {"0100007F"}
    assert listening(**{RANGE: "LOCALHOST"}) == {"0100007F"}
    assert "00000000" in listening(**{RANGE: "SUBNET"})


def test_environment_variables_override_the_default():
    profile = str(Path(__file__).parents[2] / "config" / "discovery.xml")
    closed = {RANGE: "LOCALHOST", **dict.fromkeys(PROFILES, profile)}
    assert (
        local_discovery({})
        == local_discovery({RANGE: ""})
        == local_discovery({RANGE: "LOCALHOST"})
        == closed
    )
    assert local_discovery({RANGE: "SUBNET"}) == local_discovery({RANGE: "OFF"}) == {}
    for name in ("ROS_STATIC_PEERS", "ROS_DISCOVERY_SERVER", "ROS_LOCALHOST_ONLY"):
        assert local_discovery({name: "1"}) == {}
    assert local_discovery({PROFILES[0]: "mine.xml"}) == {RANGE: "LOCALHOST"}
