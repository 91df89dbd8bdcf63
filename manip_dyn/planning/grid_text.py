"""The linear programs on a grid as text, compiled once for all arms."""

from __future__ import annotations

TEXT = '''

@njit(**OPTIONS)
def rates(kernels, x, tau, out):
    n = tau.shape[0]
    call(kernels.forward_dynamics, (x[:n], x[n:], tau, out[n:]))
    for i in range(n):
        out[i] = x[n + i]


@njit(**OPTIONS)
def sweep(kernels, start, limits, duration, u, states, jacobians, levers):
    """Integrate over equal cells of constant efforts limits * u, one RK4 step per cell.

    Writes the states (cells + 1, 2 n) and, for `pull_back`, the derivatives of the acceleration
    in the middle of each cell (cells, 3, n, n) and the rates at its end (cells, 2 n).
    """
    n, m = limits.shape[0], 2 * limits.shape[0]
    cells = u.shape[0]
    h = duration / cells
    middle, tau = np.empty(m), np.empty(n)
    first, second, third, fourth = np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    for i in range(m):
        states[0, i] = start[i]
    for k in range(cells):
        x, later = states[k], states[k + 1]
        for i in range(n):
            tau[i] = limits[i] * u[k, i]
        rates(kernels, x, tau, first)
        for i in range(m):
            middle[i] = x[i] + 0.5 * h * first[i]
        rates(kernels, middle, tau, second)
        for i in range(m):
            middle[i] = x[i] + 0.5 * h * second[i]
        rates(kernels, middle, tau, third)
        q, v = middle[:n], middle[n:]
        call(kernels.forward_dynamics_derivatives, (q, v, tau, jacobians[k]))
        for i in range(m):
            middle[i] = x[i] + h * third[i]
        rates(kernels, middle, tau, fourth)
        for i in range(m):
            later[i] = x[i] + h / 6.0 * (first[i] + 2.0 * (second[i] + third[i]) + fourth[i])
        rates(kernels, later, tau, levers[k])


@njit(**OPTIONS)
def pull_back(lever, node, limits, h, jacobians, levers, columns, row):
    """Write the derivatives of lever . x at a node by all controls and by the duration.

    They go to `columns` (cells n + 1 or more, rows), the duration's after the controls'. `lever`
    (2 n,) becomes the derivative by the start. Exponentials of the Jacobian of each cell.
    """
    n, m = limits.shape[0], 2 * limits.shape[0]
    cells = levers.shape[0]
    first, second, third = np.empty(m), np.empty(m), np.empty(m)
    slope = 0.0
    for k in range(node * n, cells * n):
        columns[k, row] = 0.0
    for k in range(node - 1, -1, -1):
        by_q, by_v, by_tau = jacobians[k, 0], jacobians[k, 1], jacobians[k, 2]
        for i in range(m):
            slope += lever[i] * levers[k, i] / cells
            first[i] = second[i] = lever[i]
        # first: lever exp(J h), second: its mean over the cell, by their series.
        for order in range(1, 5):
            for j in range(n):
                third[j], third[n + j] = 0.0, lever[j]
                for i in range(n):
                    third[j] += lever[n + i] * by_q[i, j]
                    third[n + j] += lever[n + i] * by_v[i, j]
            for j in range(m):
                lever[j] = third[j] * h / order
                first[j] += lever[j]
                second[j] += lever[j] / (order + 1)
        for j in range(m):
            lever[j] = first[j]
        for j in range(n):
            gain = 0.0
            for i in range(n):
                gain += second[n + i] * by_tau[i, j]
            columns[k * n + j, row] = h * limits[j] * gain
    columns[cells * n, row] = slope


@njit(**OPTIONS)
def excess(states, low, high, scale):
    """Return by how much the states between both ends pass their limits, summed and scaled."""
    m = scale.shape[0]
    result = 0.0
    for k in range(1, states.shape[0] - 1):
        for i in range(m):
            result += max(states[k, i] - high[i], low[i] - states[k, i], 0.0) / scale[i]
    return result


@njit(**OPTIONS)
def watch(states, low, high, near, watched, count):
    """Add to the `watched` (node, component, side) what is nearer to a limit than near (2 n,)."""
    m = near.shape[0]
    for k in range(1, states.shape[0] - 1):
        for i in range(m):
            for side in (-1, 1):
                room = high[i] - states[k, i] if side > 0 else states[k, i] - low[i]
                if room > near[i] or count == watched.shape[0]:
                    continue
                known = False
                for r in range(count):
                    if watched[r, 0] == k and watched[r, 1] == i and watched[r, 2] == side:
                        known = True
                if not known:
                    watched[count, 0], watched[count, 1], watched[count, 2] = k, i, side
                    count += 1
    return count


@njit(**OPTIONS)
def lacking(goal, states, low, high, scale, watched, count, out):
    """Write what the final state lacks (2 n,) and the room to the watched limits, scaled."""
    m = goal.shape[0]
    for i in range(m):
        out[i] = (goal[i] - states[-1, i]) / scale[i]
    for r in range(count):
        k, i, side = watched[r, 0], watched[r, 1], watched[r, 2]
        out[m + r] = ((high[i] if side > 0 else low[i]) - states[k, i]) * side / scale[i]


@njit(**OPTIONS)
def total(values):
    """Return the sum of what the final state lacks (2 n,)."""
    result = 0.0
    for i in range(values.shape[0]):
        result += abs(values[i])
    return result


@njit(**OPTIONS)
def linearized(scale, watched, count, limits, h, jacobians, levers, columns, by_start):
    """Write the derivatives of the final state and of the watched ones, and unit slacks."""
    n, m = limits.shape[0], 2 * limits.shape[0]
    size = levers.shape[0] * n
    for row in range(m + count):
        lever = by_start[row]
        lever[:] = 0.0
        node = levers.shape[0]
        if row < m:
            lever[row] = 1.0 / scale[row]
        else:
            node, i, side = watched[row - m, 0], watched[row - m, 1], watched[row - m, 2]
            lever[i] = side / scale[i]
        for r in range(count):
            columns[size + 1 + r, row] = 1.0 if r == row - m else 0.0
        pull_back(lever, node, limits, h, jacobians, levers, columns, row)


@njit(**OPTIONS)
def improve(
    kernels, start, goal, limits, lowest, highest, u, duration, iterations, tolerance, penalty,
    costate, states, pressure,
):
    """Make the controls u (cells, n) nearly optimal, by linear programs in a trust region.

    Ends where the next one promises less than `tolerance` of the first duration. Writes u, the
    costates at the start (2 n,), the states (cells + 1, 2 n) and the multipliers of their
    limits lowest, highest (2 n,); returns the duration and the largest scaled distance from the
    goal or past a limit. Scales are the largest way and that over the first duration.
    """
    n, m = limits.shape[0], 2 * limits.shape[0]
    cells, size, whole = u.shape[0], u.size, duration
    scale, near, distance = np.empty(m), np.empty(m), 1e-9
    for i in range(n):
        distance = max(distance, abs(goal[i] - start[i]))
    for i in range(m):
        scale[i] = distance if i < n else distance / whole
        near[i] = 0.03 * scale[i]
    flat = u.reshape(size)
    most = 3 * cells
    watched, count = np.empty((most, 3), dtype=np.int64), 0
    cost, high = np.zeros(size + 1 + most), np.empty(size + 1 + most)
    low = np.empty_like(high)
    at_high = np.zeros(size + 1 + most, dtype=np.bool_)
    cost[size] = 1.0 / whole
    for j in range(size):
        at_high[j] = flat[j] > 0.0
    for j in range(size + 1, size + 1 + most):
        low[j], high[j] = 0.0, 1e6
    step, multipliers = np.zeros(size + 1 + most), np.zeros(m + most)
    basis = np.empty(m + most, dtype=np.int64)
    by_start, columns = np.empty((m + most, m)), np.empty((size + 1, m))
    jacobians, levers = np.empty((cells, 3, n, n)), np.empty((cells, m))
    new_states = np.empty_like(states)
    new_jacobians, new_levers = np.empty_like(jacobians), np.empty_like(levers)
    trial = np.empty_like(u)
    flat_trial = trial.reshape(size)
    right, left, new_right = np.empty(m + most), np.empty(m + most), np.empty(m + most)
    sweep(kernels, start, limits, duration, u, states, jacobians, levers)
    radius = 1.0
    for iteration in range(iterations):
        count = watch(states, lowest, highest, near, watched, np.int64(0))
        for j in range(size):
            low[j] = max(-1.0 - flat[j], -2.0 * radius)
            high[j] = min(1.0 - flat[j], 2.0 * radius)
        high[size] = 0.3 * radius * duration
        low[size] = -high[size]
        lacking(goal, states, lowest, highest, scale, watched, count, right)
        wrong = total(right[:m]) + excess(states, lowest, highest, scale)
        promised = gained = 0.0
        seen = -1
        for correction in range(4):
            if count > seen:
                columns = np.empty((size + 1 + count, m + count))
                h = duration / cells
                linearized(
                    scale, watched, count, limits, h, jacobians, levers, columns, by_start
                )
                seen = count
                for j in range(size + 1, size + 1 + count):
                    at_high[j] = False
            variables, rows = size + 1 + count, m + count
            for i in range(rows):
                basis[i] = -1 if i < m else size + 1 + i - m
            pivots = solve_linear_program(
                columns, right[:rows], cost[:variables], low[:variables], high[:variables],
                at_high[:variables], basis[:rows], penalty,
                step[:variables], multipliers[:rows],
            )
            if pivots < 0:
                return duration, np.inf
            for i in range(rows):
                left[i] = right[i]
            for j in range(size + 1):
                if step[j] != 0.0:
                    for i in range(rows):
                        left[i] -= step[j] * columns[j, i]
            if correction == 0:
                promised = penalty * (wrong - total(left[:m])) - step[size] / whole
                for r in range(m, rows):
                    promised += penalty * min(left[r], 0.0)
                if promised < tolerance:
                    break
            for j in range(size):
                flat_trial[j] = min(max(flat[j] + step[j], -1.0), 1.0)
            new_duration = duration + step[size]
            sweep(
                kernels, start, limits, new_duration, trial, new_states, new_jacobians, new_levers
            )
            count = watch(new_states, lowest, highest, 0.0 * near, watched, count)
            lacking(goal, new_states, lowest, highest, scale, watched, count, new_right)
            gained = (duration - new_duration) / whole + penalty * (
                wrong - total(new_right[:m]) - excess(new_states, lowest, highest, scale)
            )
            if gained > 0.5 * promised:
                break
            if count > rows - m:
                lacking(goal, states, lowest, highest, scale, watched, count, right)
            else:
                for i in range(rows):
                    right[i] += new_right[i] - left[i]
        if promised < tolerance:
            break
        if gained > 0.1 * promised:
            duration = new_duration
            for j in range(size):
                flat[j] = flat_trial[j]
            for k in range(cells + 1):
                for i in range(m):
                    states[k, i] = new_states[k, i]
            jacobians, new_jacobians = new_jacobians, jacobians
            levers, new_levers = new_levers, levers
            if gained > 0.5 * promised:
                radius = min(2.0 * radius, 1.0)
        else:
            radius *= 0.4
            if radius < 1e-4:
                break
    for j in range(m):
        costate[j] = 0.0
        for i in range(m + seen):
            costate[j] -= by_start[i, j] * multipliers[i] * whole
    pressure[:] = 0.0
    for r in range(seen):
        k, i, side = watched[r, 0], watched[r, 1], watched[r, 2]
        pressure[k, i] -= side * multipliers[m + r] * whole / scale[i]
    lacking(goal, states, lowest, highest, scale, watched, np.int64(0), right)
    largest = 0.0
    for i in range(m):
        largest = max(largest, abs(right[i]))
        for k in range(1, cells):
            past = max(states[k, i] - highest[i], lowest[i] - states[k, i])
            largest = max(largest, past / scale[i])
    return duration, largest


@njit(**OPTIONS)
def efforts_along(kernels, way, swing, start, duration, limits, u):
    """Write the efforts over `limits`, within 1, that move along start + way s + swing b.

    s = z - sin(2 pi z) / (2 pi) and b = sin^2(pi z) with z = t / duration, at the cells' middles.
    Returns the largest effort over its limit before that.
    """
    n = limits.shape[0]
    q, v, a, tau = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    cells, most, turn = u.shape[0], 0.0, 2.0 * np.pi
    for k in range(cells):
        z = (k + 0.5) / cells
        s, c = np.sin(turn * z), np.cos(turn * z)
        for i in range(n):
            q[i] = start[i] + way[i] * (z - s / turn) + swing[i] * 0.5 * (1.0 - c)
            v[i] = (way[i] * (1.0 - c) + swing[i] * np.pi * s) / duration
            a[i] = turn * (way[i] * s + swing[i] * np.pi * c) / duration**2
        call(kernels.inverse_dynamics, (q, v, a, tau))
        for i in range(n):
            share = tau[i] / limits[i]
            most = max(most, abs(share))
            u[k, i] = min(max(share, -1.0), 1.0)
    return most
'''
