"""SROS2 access policy of the nodes (schema 0.2.0 of the package sros2)."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import rclpy
from rclpy.context import Context
from rclpy.node import Node

from manip_dyn.core.files import share_directory
from manip_dyn.ros.follow_joint_trajectory import ACTION, TOPIC
from manip_dyn.ros.nodes.bang_bang_planner import BangBangPlannerNode
from manip_dyn.ros.nodes.clik_tracker import ClikTrackerNode
from manip_dyn.ros.nodes.mechanism import MechanismNode
from manip_dyn.ros.nodes.mechanism_monitor import MechanismMonitorNode
from manip_dyn.ros.nodes.monitor import MonitorNode
from manip_dyn.ros.nodes.simulator import SimulatorNode
from manip_dyn.ros.nodes.viewer import ViewerNode
from manip_dyn.ros.robot_topics import ROBOT_DESCRIPTION, SEMANTIC_DESCRIPTION
from manip_dyn.ros.runtime.environment import local_discovery
from manip_dyn.ros.runtime.execution import Component, build
from manip_dyn.ros.scene_markers import TOPIC as SCENE_MARKERS
from manip_dyn.ros.scene_topic import TOPIC as SCENE


class Rule(NamedTuple):
    """A permission in a policy, such as to publish on topics.

    Attributes:
        kind: ``topic``, ``service`` or ``action``.
        use: ``publish`` or ``subscribe``, ``reply`` or ``request``, ``execute``.
    """

    kind: str
    use: str


GRAPH_QUERIES = {
    Rule("topic", "publish"): Node.get_publisher_names_and_types_by_node,
    Rule("topic", "subscribe"): Node.get_subscriber_names_and_types_by_node,
    Rule("service", "reply"): Node.get_service_names_and_types_by_node,
    Rule("service", "request"): Node.get_client_names_and_types_by_node,
}
PUBLISH, SUBSCRIBE = Rule("topic", "publish"), Rule("topic", "subscribe")
EXECUTE = Rule("action", "execute")
ACTION_INFIX = "/_action/"
"""Substring in the names of topics and services that belong to an action."""
ALWAYS_ALLOWED = {SUBSCRIBE: {"/clock"}}
"""Names that every node may use, because it does so with use_sim_time."""
GLOBAL_NAMES = {"/clock", "/diagnostics", "/parameter_events", "/rosout", "/tf", "/tf_static"}
"""Names that are the same in every namespace."""
Names = dict[Rule, set[str]]


def cases() -> tuple[tuple[type[Component], str, dict[str, str]], ...]:
    """Return nodes, scenarios and parameters that together use all topics and services."""
    return (
        (SimulatorNode, "ibm7535_zero_net_work", {"publish_clock": "true", "mode": "lockstep"}),
        (BangBangPlannerNode, "ibm7535_zero_net_work", {"autostart": "false", "scene": "self"}),
        (ClikTrackerNode, "pa10_circle", {"path": "target", "scene": "self"}),
        (ClikTrackerNode, "pa10_dynamic_circle", {}),
        (MechanismNode, "hmmwv", {"mechanism": "four_bar", "publish_clock": "true"}),
        (MonitorNode, "pa10_circle", {}),
        (MonitorNode, "ibm7535_zero_net_work", {}),
        (MonitorNode, "stiff_pendulum", {}),
        (MechanismMonitorNode, "hmmwv", {}),
        (ViewerNode, "", {}),
    )


def uses(kind: type[Component], scenario: str, parameters: dict[str, str]) -> Names:
    """Return the names that a node uses: global, private (starting with ~/) or relative."""
    arguments = ["--ros-args"]
    if scenario:
        file = share_directory() / "config" / f"{scenario}.yaml"
        arguments += ["--params-file", str(file)]
    for name, value in parameters.items():
        arguments += ["-p", f"{name}:={value}"]
    context = Context()
    rclpy.init(context=context)
    try:
        component = build(kind, context=context, cli_args=arguments)
        try:
            node = component.node.get_name()
            return {
                rule: {
                    _relative(name, node)
                    for name, _ in query(component.node, node, "/")
                    if ACTION_INFIX not in name
                }
                for rule, query in GRAPH_QUERIES.items()
            }
        finally:
            component.close()
            component.node.destroy_node()
    finally:
        context.try_shutdown()


def _relative(name: str, node: str) -> str:
    if name in GLOBAL_NAMES:
        return name
    return f"~{name.removeprefix('/' + node)}" if name.startswith(f"/{node}/") else name[1:]


def allowed() -> dict[str, Names]:
    """Return the names that each node may use."""
    nodes: dict[str, Names] = {}
    for kind, scenario, parameters in cases():
        names = nodes.setdefault(kind.name, {rule: set() for rule in GRAPH_QUERIES})
        for rule, used in uses(kind, scenario, parameters).items():
            names[rule] |= used | ALWAYS_ALLOWED.get(rule, set())
        # The action exists only with control_msgs, which may be missing here.
        if TOPIC in names[SUBSCRIBE]:
            names[EXECUTE] = {ACTION}
        # The topic exists only with moveit_msgs.
        if SCENE_MARKERS in names[PUBLISH]:
            names[SUBSCRIBE].add(SCENE)
    # Nodes read these topics only while they start with "topic" for `robot` or `srdf`.
    for kind in (SimulatorNode, BangBangPlannerNode, ClikTrackerNode, MonitorNode):
        nodes[kind.name][SUBSCRIBE].add(ROBOT_DESCRIPTION)
    for kind in (BangBangPlannerNode, ClikTrackerNode):
        nodes[kind.name][SUBSCRIBE].add(SEMANTIC_DESCRIPTION)
    return nodes


def policy() -> str:
    """Return the policy of all nodes as an XML document."""
    root = ElementTree.Element("policy", version="0.2.0")
    enclaves = ElementTree.SubElement(root, "enclaves")
    for node, names in sorted(allowed().items()):
        enclave = ElementTree.SubElement(enclaves, "enclave", path=f"/manip_dyn/{node}")
        profiles = ElementTree.SubElement(enclave, "profiles")
        profile = ElementTree.SubElement(profiles, "profile", ns="/", node=node)
        for rule, used in names.items():
            _add(profile, rule, used)
    ElementTree.indent(root)
    head = (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<!-- Written by python -m {__spec__.name}. -->\n'
    )
    return head + ElementTree.tostring(root, encoding="unicode") + "\n"


def _add(profile: ElementTree.Element, rule: Rule, names: set[str]) -> None:
    if names:
        group = ElementTree.SubElement(profile, f"{rule.kind}s", {rule.use: "ALLOW"})
        for name in sorted(names):
            ElementTree.SubElement(group, rule.kind).text = name


if __name__ == "__main__":
    os.environ.update(local_discovery(os.environ))
    Path(sys.argv[1]).write_text(policy(), encoding="utf-8")
