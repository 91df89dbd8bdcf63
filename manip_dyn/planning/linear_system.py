"""The solution of small linear systems."""

from manip_dyn.core.compiled import compiled


@compiled(short=True, python=False)
def solve(a, b):
    """Solve a x = b for a matrix (k, k) by elimination with row pivoting; x goes into `b` (k,).

    Returns whether there is a solution; `a` is overwritten.
    """
    size = b.shape[0]
    for k in range(size):
        pivot = k
        for i in range(k + 1, size):
            if abs(a[i, k]) > abs(a[pivot, k]):
                pivot = i
        if a[pivot, k] == 0.0:
            return False
        if pivot != k:
            for j in range(size):
                kept = a[k, j]
                a[k, j] = a[pivot, j]
                a[pivot, j] = kept
            kept = b[k]
            b[k] = b[pivot]
            b[pivot] = kept
        for i in range(k + 1, size):
            share = a[i, k] / a[k, k]
            for j in range(k + 1, size):
                a[i, j] -= share * a[k, j]
            b[i] -= share * b[k]
    for k in range(size - 1, -1, -1):
        for j in range(k + 1, size):
            b[k] -= a[k, j] * b[j]
        b[k] /= a[k, k]
    return True
