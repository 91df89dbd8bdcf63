"""The parameter of nodes that know where an arm's links are."""

from __future__ import annotations

from dataclasses import dataclass

from manip_dyn.ros.parameters.rows import parameter


@dataclass(frozen=True)
class TransformParameters:
    """Who publishes /tf."""

    publish_tf: str = parameter(
        "auto",
        "Publish tf and tf_static of the links; auto: while nobody else publishes tf, and if "
        "tf2_msgs is installed",
        choices=("auto", "always", "never"),
    )
