"""Blocks of a mechanism: bodies that form loops with each other, and single bodies.

A spanning tree connects all bodies with the ground, or with a free body. Each other joint closes a
loop along the tree. The bodies of a loop, except the one nearest to the ground, belong to the same
block. Without loops, each body is a block.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def blocks_of(count: int, joints: Sequence[tuple[int, int]]) -> list[np.ndarray]:
    """Return the indices of the bodies of each block, from the ground to the leaves.

    A block is connected with the ground, or with a free body, through an earlier block.

    Args:
        count: Number of bodies.
        joints: Indices of the two bodies of each joint; `count` is the ground.
    """
    neighbours: list[list[int]] = [[] for _ in range(count + 1)]
    for first, second in joints:
        neighbours[first].append(second)
        neighbours[second].append(first)
    parent, depth = dict[int, int](), dict[int, int]()
    for root in (count, *range(count)):
        if root in depth:
            continue
        parent[root], depth[root] = root, int(root != count)  # the ground, or a free body
        reached = [root]
        for body in reached:
            for neighbour in neighbours[body]:
                if neighbour not in depth:
                    parent[neighbour], depth[neighbour] = body, depth[body] + 1
                    reached.append(neighbour)
    group = list(range(count))

    def top(body: int) -> int:
        while group[body] != body:
            group[body] = group[group[body]]
            body = group[body]
        return body

    for first, second in joints:
        path = []
        while first != second:
            first, second = (first, second) if depth[first] >= depth[second] else (second, first)
            path.append(first)
            first = parent[first]
        for body in path[1:]:
            group[top(body)] = top(path[0])
    blocks: dict[int, list[int]] = {}
    for body in sorted(range(count), key=lambda body: depth[body]):
        blocks.setdefault(top(body), []).append(body)
    return [np.array(sorted(bodies)) for bodies in blocks.values()]
