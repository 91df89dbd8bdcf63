"""The solution of small linear systems, as text for the compiled modules that need it."""

TEXT = '''

@njit(**OPTIONS)
def solve(a, b):
    """Solve a x = b by elimination with row pivoting; x goes into `b`."""
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
                a[k, j], a[pivot, j] = a[pivot, j], a[k, j]
            b[k], b[pivot] = b[pivot], b[k]
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
'''
