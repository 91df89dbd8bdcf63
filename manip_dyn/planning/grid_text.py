"""The linear programs on a grid as text, compiled per robot with its kernels."""

from __future__ import annotations

TEXT = '''

@njit(**OPTIONS)
def rates(x, tau, out):
    forward_dynamics(x[:N], x[N:], tau, out[N:])
    for i in range(N):
        out[i] = x[N + i]


@njit(**OPTIONS)
def sweep(start, limits, duration, u, end, by_start, by_control, by_duration):
    """Integrate over equal cells of constant efforts limits * u, and back for the derivatives.

    Writes the final state (2 N,) and its derivatives by the start (2 N, 2 N), by the controls
    u (cells, N) as (cells N, 2 N) and by the duration (2 N,). RK4 forwards, one step per cell;
    backwards the exponential of the Jacobian in the middle of each cell.
    """
    cells = u.shape[0]
    h = duration / cells
    x, middle, tau = np.empty(X), np.empty(X), np.empty(N)
    first, second, third, fourth = np.empty(X), np.empty(X), np.empty(X), np.empty(X)
    jacobians, levers = np.empty((cells, 3, N, N)), np.empty((cells, X))
    for i in range(X):
        x[i] = start[i]
    for k in range(cells):
        for i in range(N):
            tau[i] = limits[i] * u[k, i]
        rates(x, tau, first)
        for i in range(X):
            middle[i] = x[i] + 0.5 * h * first[i]
        rates(middle, tau, second)
        for i in range(X):
            middle[i] = x[i] + 0.5 * h * second[i]
        rates(middle, tau, third)
        forward_dynamics_derivatives(middle[:N], middle[N:], tau, jacobians[k])
        for i in range(X):
            middle[i] = x[i] + h * third[i]
        rates(middle, tau, fourth)
        for i in range(X):
            x[i] += h / 6.0 * (first[i] + 2.0 * (second[i] + third[i]) + fourth[i])
        rates(x, tau, levers[k])
    for i in range(X):
        end[i] = x[i]
        by_duration[i] = 0.0
        for j in range(X):
            by_start[i, j] = 1.0 if i == j else 0.0
    for k in range(cells - 1, -1, -1):
        by_q, by_v, by_tau = jacobians[k, 0], jacobians[k, 1], jacobians[k, 2]
        for row in range(X):
            lever = by_start[row]
            for i in range(X):
                by_duration[row] += lever[i] * levers[k, i] / cells
                first[i] = second[i] = lever[i]
            # first: lever exp(J h), second: its mean over the cell, by their series.
            for order in range(1, 5):
                for j in range(N):
                    third[j], third[N + j] = 0.0, lever[j]
                    for i in range(N):
                        third[j] += lever[N + i] * by_q[i, j]
                        third[N + j] += lever[N + i] * by_v[i, j]
                for j in range(X):
                    lever[j] = third[j] * h / order
                    first[j] += lever[j]
                    second[j] += lever[j] / (order + 1)
            for j in range(X):
                lever[j] = first[j]
            for j in range(N):
                total = 0.0
                for i in range(N):
                    total += second[N + i] * by_tau[i, j]
                by_control[k * N + j, row] = h * limits[j] * total


@njit(**OPTIONS)
def scaled(goal, end, scale, out):
    for i in range(X):
        out[i] = (goal[i] - end[i]) / scale[i]


@njit(**OPTIONS)
def total(values):
    result = 0.0
    for i in range(X):
        result += abs(values[i])
    return result


@njit(**OPTIONS)
def rescale(columns, by_duration, scale):
    """Put the derivatives by the duration last and divide all by the scales."""
    last = columns.shape[0] - 1
    for i in range(X):
        columns[last, i] = by_duration[i]
    for j in range(last + 1):
        for i in range(X):
            columns[j, i] /= scale[i]


@njit(**OPTIONS)
def improve(start, goal, limits, u, duration, iterations, tolerance, penalty, costate):
    """Make the controls u (cells, N) nearly optimal, by linear programs in a trust region.

    Ends where the next one promises less than `tolerance` of the first duration. Writes u and
    the costates at the start (2 N,); returns the duration and the largest scaled
    distance from the goal. Scales are the largest way and that over the first duration.
    """
    size, whole = u.size, duration
    scale, distance = np.empty(X), 0.1
    for i in range(N):
        distance = max(distance, abs(goal[i] - start[i]))
    for i in range(N):
        scale[i], scale[N + i] = distance, distance / whole
    flat = u.reshape(size)
    cost, low, high = np.zeros(size + 1), np.empty(size + 1), np.empty(size + 1)
    cost[size] = 1.0 / whole
    step, multipliers = np.zeros(size + 1), np.zeros(X)
    at_high = np.empty(size + 1, dtype=np.bool_)
    for j in range(size):
        at_high[j] = flat[j] > 0.0
    at_high[size] = False
    end, by_start, columns, by_duration = (
        np.empty(X), np.empty((X, X)), np.empty((size + 1, X)), np.empty(X)
    )
    new_end, new_by_start, new_columns, new_by_duration = (
        np.empty(X), np.empty((X, X)), np.empty((size + 1, X)), np.empty(X)
    )
    trial = np.empty_like(u)
    flat_trial = trial.reshape(size)
    sweep(start, limits, duration, u, end, by_start, columns, by_duration)
    miss, right, left, new_miss = np.empty(X), np.empty(X), np.empty(X), np.empty(X)
    scaled(goal, end, scale, miss)
    rescale(columns, by_duration, scale)
    radius = 1.0
    for iteration in range(iterations):
        for j in range(size):
            low[j] = max(-1.0 - flat[j], -2.0 * radius)
            high[j] = min(1.0 - flat[j], 2.0 * radius)
        high[size] = 0.3 * radius * duration
        low[size] = -high[size]
        for i in range(X):
            right[i] = miss[i]
        missed = total(miss)
        promised = gained = 0.0
        for correction in range(3):
            pivots = solve_linear_program(
                columns, right, cost, low, high, at_high, penalty, step, multipliers
            )
            if pivots < 0:
                return duration, np.inf
            for i in range(X):
                left[i] = right[i]
            for j in range(size + 1):
                if step[j] != 0.0:
                    for i in range(X):
                        left[i] -= step[j] * columns[j, i]
            if correction == 0:
                promised = penalty * (missed - total(left)) - step[size] / whole
                if promised < tolerance:
                    break
            for j in range(size):
                flat_trial[j] = min(max(flat[j] + step[j], -1.0), 1.0)
            new_duration = duration + step[size]
            sweep(
                start, limits, new_duration, trial, new_end, new_by_start, new_columns,
                new_by_duration,
            )
            scaled(goal, new_end, scale, new_miss)
            gained = (duration - new_duration) / whole
            gained += penalty * (missed - total(new_miss))
            if gained > 0.5 * promised:
                break
            for i in range(X):
                right[i] += new_miss[i] - left[i]
        if promised < tolerance:
            break
        if gained > 0.1 * promised:
            duration = new_duration
            for j in range(size):
                flat[j] = flat_trial[j]
            for i in range(X):
                miss[i], by_duration[i] = new_miss[i], new_by_duration[i]
            by_start, new_by_start = new_by_start, by_start
            columns, new_columns = new_columns, columns
            rescale(columns, by_duration, scale)
            if gained > 0.5 * promised:
                radius = min(2.0 * radius, 1.0)
        else:
            radius *= 0.4
            if radius < 1e-4:
                break
    for i in range(X):
        costate[i] = 0.0
        for j in range(X):
            costate[i] -= by_start[j, i] * multipliers[j] / scale[j]
    largest = 0.0
    for i in range(X):
        largest = max(largest, abs(miss[i]))
    return duration, largest


@njit(**OPTIONS)
def efforts_along(way, swing, start, duration, limits, u):
    """Write the efforts over `limits`, within 1, that move along start + way s + swing b.

    s = z - sin(2 pi z) / (2 pi) and b = sin^2(pi z) with z = t / duration, at the cells' middles.
    Returns the largest effort over its limit before that.
    """
    q, v, a, tau = np.empty(N), np.empty(N), np.empty(N), np.empty(N)
    cells, most, turn = u.shape[0], 0.0, 2.0 * np.pi
    for k in range(cells):
        z = (k + 0.5) / cells
        s, c = np.sin(turn * z), np.cos(turn * z)
        for i in range(N):
            q[i] = start[i] + way[i] * (z - s / turn) + swing[i] * 0.5 * (1.0 - c)
            v[i] = (way[i] * (1.0 - c) + swing[i] * np.pi * s) / duration
            a[i] = turn * (way[i] * s + swing[i] * np.pi * c) / duration**2
        inverse_dynamics(q, v, a, tau)
        for i in range(N):
            share = tau[i] / limits[i]
            most = max(most, abs(share))
            u[k, i] = min(max(share, -1.0), 1.0)
    return most
'''
