"""Derivatives of the forward dynamics from those of the inverse dynamics, in place.

From M a + h(q, v) = tau: da/dx = -M^-1 dID/dx at fixed a, and da/dtau = M^-1 (Carpentier,
Mansard 2018). In loops around the straight lines of others: for long chains, where a straight
line of its own would take hundreds of thousands of operations, and gigabytes to compile.
"""

from __future__ import annotations

TEXT = '''

N = {n}
BLOCK = 64


@compiled
def forward_dynamics_derivatives(q, v, tau, out):
    accelerations = out[0, 0]
    forward_dynamics(q, v, tau, accelerations)
    inverse_dynamics_derivatives(q, v, accelerations, out)
    invert(out)


@compiled
def invert(out):
    """Turn dID/dq, dID/dv and M into the derivatives of the accelerations."""
    m = out[2]
    # M = L^T D L, in the lower triangle; 1/D on the diagonal.
    for k in range(N - 1, -1, -1):
        inverse = 1.0 / m[k, k]
        for i in range(k):
            share = m[k, i] * inverse
            for j in range(i + 1):
                m[i, j] -= share * m[k, j]
        for i in range(k):
            m[k, i] *= inverse
        m[k, k] = inverse
    for part in range(2):
        b = out[part]
        for k in range(N - 1, -1, -1):
            for i in range(k):
                for c in range(N):
                    b[i, c] -= m[k, i] * b[k, c]
        for k in range(N):
            for c in range(N):
                b[k, c] *= -m[k, k]
            for i in range(k):
                for c in range(N):
                    b[k, c] -= m[k, i] * b[i, c]
    # L^-1 in the place of L, then M^-1 = L^-1 D^-1 L^-T.
    for k in range(N):
        for j in range(k):
            total = m[k, j]
            for i in range(j + 1, k):
                total += m[k, i] * m[i, j]
            m[k, j] = -total
    for i in range(N - 1, -1, -1):
        for j in range(i, -1, -1):
            total = m[j, j] if i == j else m[i, j] * m[j, j]
            for k in range(j):
                total += m[i, k] * m[k, k] * m[j, k]
            m[i, j] = m[j, i] = total


@compiled
def forward_dynamics_derivatives_batch(q, v, tau, out, first, last):
    accelerations = out[0, 0]
    for start in range(first, last, BLOCK):
        stop = min(start + BLOCK, last)
        forward_dynamics_batch(q, v, tau, accelerations, start, stop)
        inverse_dynamics_derivatives_batch(q, v, accelerations, out, start, stop)
        invert_batch(out, start, stop)


@compiled
def invert_batch(out, first, last):
    """Do as `invert` does, for the columns from `first` up to `last`."""
    m = out[2]
    for k in range(N - 1, -1, -1):
        for s in range(first, last):
            m[k, k, s] = 1.0 / m[k, k, s]
        for i in range(k):
            for j in range(i + 1):
                for s in range(first, last):
                    m[i, j, s] -= m[k, i, s] * m[k, k, s] * m[k, j, s]
        for i in range(k):
            for s in range(first, last):
                m[k, i, s] *= m[k, k, s]
    for part in range(2):
        b = out[part]
        for k in range(N - 1, -1, -1):
            for i in range(k):
                for c in range(N):
                    for s in range(first, last):
                        b[i, c, s] -= m[k, i, s] * b[k, c, s]
        for k in range(N):
            for c in range(N):
                for s in range(first, last):
                    b[k, c, s] *= -m[k, k, s]
            for i in range(k):
                for c in range(N):
                    for s in range(first, last):
                        b[k, c, s] -= m[k, i, s] * b[i, c, s]
    for k in range(N):
        for j in range(k):
            for i in range(j + 1, k):
                for s in range(first, last):
                    m[k, j, s] += m[k, i, s] * m[i, j, s]
            for s in range(first, last):
                m[k, j, s] = -m[k, j, s]
    for i in range(N - 1, -1, -1):
        for j in range(i, -1, -1):
            if i != j:
                for s in range(first, last):
                    m[i, j, s] *= m[j, j, s]
            for k in range(j):
                for s in range(first, last):
                    m[i, j, s] += m[i, k, s] * m[k, k, s] * m[j, k, s]
            for s in range(first, last):
                m[j, i, s] = m[i, j, s]
'''
