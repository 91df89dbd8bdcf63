"""Signal trackers at 1 kHz, record the brakes: ``python test/ros/record_kills.py FILE SIGNAL N``.

N trackers of a PA-10 receive SIGNAL at random times of a fast circle. The records replace those of
the same signal in FILE. Run it at a fixed priority, for example with ``chrt -f 20``.

Each record contains the `end` of the last command and the start of the brake (`braked`), in
control periods after the last answered state. The joint speeds are the largest at the fault, from
the fault to the brake (`fastest before`) and after it (`fastest after`), rad/s. `rise` is the
largest rise of the kinetic energy during the brake, J.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # the helpers of all tests

import conftest  # noqa: F401  (real nodes, on this machine only)
import numpy as np
from faults.processes import Processes
from faults.witness import SAME
from harness import Ros
from lockstep_link import stamp_ns
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from targets import CIRCLE, START

import manip_dyn as md
from manip_dyn.control import Brake

PERIOD = 1e-3
REST = 1e-3
"""Joint speed below which the arm rests, rad/s."""
TRACKER = CIRCLE | {"robot": "pa10", "mode": "dynamic", "step": PERIOD, "posture": START}
TRACKER |= {"posture_gain": 1.0}


def fault(ros, processes, number, seconds):
    """Signal the tracker at a time of its motion (s); return states and commands after that."""
    states = ros.listen(JointState, "joint_states", 10_000)
    commands = ros.listen(Float64MultiArray, "simulator/commands", 10_000)
    processes.start("simulator", robot="pa10", control_period=PERIOD, initial_position=START)
    processes.start("clik_tracker", **TRACKER)
    speed = lambda: np.abs(states[-1].velocity).max() if states else 0.0  # noqa: E731
    ros.until(lambda: speed() > 0.5, "the arm does not move")
    ros.spin(seconds)
    ros.until(lambda: speed() > 0.7, "the arm is slow")
    since = len(states) - 1
    processes.signal("clik_tracker", number)
    ros.until(lambda: len(states) > since + 100 and speed() < REST, "the arm does not rest")
    return states[since:], [command for command in commands if command.layout.dim]


def times(command):
    """Return the stamp of the answered state and the duration of a command, ns."""
    return [1_000_000_000 * dim.size + dim.stride for dim in command.layout.dim[:2]]


def record(states, commands, kernels):
    """Return the values of a record."""
    brake, limits = Brake(kernels), kernels.robot.tau_max.max()
    answered, duration = max(times(command) for command in commands if command.data)
    rows = []
    for state in states:
        q, v, effort = map(np.array, (state.position, state.velocity, state.effort))
        braked = np.abs(effort - brake.effort(0, q, v)).max() <= SAME * limits
        energy = 0.5 * v @ kernels.mass_matrix(q) @ v
        since = 1e-9 * (stamp_ns(state) - answered)
        rows.append((since, float(np.abs(v).max()), bool(braked), float(energy)))
    first = next(k for k, row in enumerate(rows) if row[0] >= 0.0 and all(r[2] for r in rows[k:]))
    first -= 1  # a command ends at the start of a period, after the state at this time
    after = np.array([row[3] for row in rows[first:]])
    return {
        "end": round(1e-9 * duration / PERIOD, 3),
        "braked": round(rows[first][0] / PERIOD, 3),
        "speed": rows[0][1],
        "fastest before": max(row[1] for row in rows[: first + 1]),
        "fastest after": max(row[1] for row in rows[first:]),
        "rise": float(max(np.diff(after).max(), 0.0)),
    }


def main(file, name, count):
    """Record `count` faults; print a fault without a brake and fail after the last one."""
    kernels, rng = md.customize(md.load_robot("pa10")), np.random.default_rng()
    words = ["git", "rev-parse", "--short=8", "HEAD"]
    commit = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    head = {"commit": commit, "commander": "tracker", "robot": "pa10", "signal": name}
    rows, without = [], 0
    for _ in range(count):
        processes = Processes()
        try:
            with Ros() as ros:
                seconds = rng.uniform(1.0, 4.0)
                messages = fault(ros, processes, getattr(signal, name), seconds)
                rows.append(head | record(*messages, kernels))
                print(rows[-1], flush=True)
        except (AssertionError, StopIteration) as error:
            without += 1
            print("FAILED", repr(error), flush=True)
        finally:
            processes.close()
    stored = json.loads(file.read_text()) if file.exists() else []
    same = [(row["commander"], row["signal"]) == ("tracker", name) for row in stored]
    rows = [row for row, replaced in zip(stored, same, strict=True) if not replaced] + rows
    file.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
    if without:
        sys.exit(f"{without} faults without a brake")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
