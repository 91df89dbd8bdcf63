"""Weighted least squares, with what the data cannot tell left as it was assumed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Matrix, Tensor, Vector

ROUNDS = 3
"""Of weights from residuals, and residuals from weights."""
BLIND = 1e-3
"""Size of a singular value, relative to the largest, below which the data say nothing: what the
model and the filters do not have right is taken for a parameter there, whatever the noise says."""


class Estimate(NamedTuple):
    """What least squares give.

    Attributes:
        values: The parameters (b,).
        covariance: Theirs (b, b); infinite where the data say nothing.
        noise: Standard deviation of the efforts' errors by joint (n,).
        residual: Root mean square of what is left by joint (n,).
        condition: Of the weighted regressor, its columns scaled to length one.
    """

    values: Vector
    covariance: Matrix
    noise: Vector
    residual: Vector
    condition: float


def least_squares(observed: Tensor, efforts: Matrix, assumed: Vector) -> Estimate:
    """Return the parameters that fit efforts best, each joint weighted by its noise.

    Args:
        observed: What each parameter of size one adds to the efforts, (m, n, b).
        efforts: Measured ones (m, n).
        assumed: Values (b,) that directions keep of which the data say nothing.
    """
    m, n, b = observed.shape
    left = efforts - observed @ assumed
    noise = np.maximum(np.std(left, axis=0), np.finfo(float).tiny)
    for _ in range(ROUNDS):
        rows = (observed / noise[:, None]).reshape(m * n, b)
        size = np.linalg.norm(rows, axis=0)
        size[size == 0.0] = 1.0
        u, singular, vt = np.linalg.svd(rows / size, full_matrices=False)
        told = singular > BLIND * singular[0]
        step = vt[told].T @ ((u[:, told].T @ (left / noise).ravel()) / singular[told]) / size
        errors = left - observed @ step
        share = np.einsum("mnk,mnk->n", *[u[:, told].reshape(m, n, -1)] * 2)
        noise = _deviation(errors, share)
    spread = vt[told].T / singular[told]
    covariance = (spread @ spread.T) / np.outer(size, size)
    blind = np.abs(vt[~told]).max(axis=0, initial=0.0) > 1e-6
    covariance[blind, blind] = np.inf
    residual = np.sqrt(np.mean(errors**2, axis=0))
    condition = float(singular[0] / singular[told][-1]) if told.all() else np.inf
    return Estimate(assumed + step, covariance, noise, residual, condition)


def _deviation(errors: Matrix, share: Vector) -> Vector:
    """Return the standard deviations (n,) of errors (m, n), those that follow each other weighted.

    Args:
        errors: What is left.
        share: How many parameters each joint's errors were spent on, (n,).
    """
    m = len(errors)
    variance = np.sum(errors**2, axis=0) / np.maximum(m - share, 1.0)
    following = np.sum(errors[1:] * errors[:-1], axis=0)
    alike = following / np.maximum(np.sum(errors**2, axis=0), np.finfo(float).tiny)
    alike = np.clip(alike, 0.0, 0.95)
    return np.sqrt(np.maximum(variance * (1.0 + alike) / (1.0 - alike), np.finfo(float).tiny))
