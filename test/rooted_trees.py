"""Rooted trees of the order conditions of Runge-Kutta methods."""

from functools import cache


@cache
def trees(order):
    """Return the rooted trees of an order, each as the sorted tuple of its branches."""
    return sorted(forests(order - 1, order - 1))


@cache
def forests(nodes, largest):
    """Return the multisets of trees, none above `largest` nodes, with `nodes` in all."""
    if nodes == 0:
        return {()}
    return {
        tuple(sorted((tree, *rest)))
        for size in range(1, min(nodes, largest) + 1)
        for tree in trees(size)
        for rest in forests(nodes - size, size)
    }


def density(tree):
    """Return order and density of a tree (Hairer, Norsett, Wanner I, definition II.2.10)."""
    order, product = 1, 1
    for branch in tree:
        nodes, inner = density(branch)
        order, product = order + nodes, product * inner
    return order, order * product
