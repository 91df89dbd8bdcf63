"""All cases, in the order of the table of docs/fault_cases.md."""

from faults import (
    actions,
    circles,
    clocks,
    commands,
    life,
    links,
    lockstep,
    mechanisms,
    planning,
    processes,
    surroundings,
    targets_of_tools,
)
from faults.systems import Commanded, Planned, Tracked

SYSTEMS = {"simulator": Commanded, "planner": Planned, "tracker": Tracked}
SYSTEMS |= {"planner_link": links.PlannedOverLink, "tracker_link": links.TrackedOverLink}
SYSTEMS |= {
    "planner_processes": processes.PlannedProcesses,
    "tracker_processes": processes.TrackedProcesses,
    "mechanism": mechanisms.MechanismProcesses,
    "alone": surroundings.Alone,
}
SYSTEMS |= lockstep.SYSTEMS
SYSTEMS |= {
    "action": actions.ArmWithAction,
    "planner_in_simulated_time": clocks.PlannedInSimulatedTime,
    "circle": circles.CircleInLockstep,
}
CASES = (*commands.CASES, *planning.CASES, *life.CASES, *targets_of_tools.CASES)
CASES += (*links.CASES, *lockstep.CASES, *circles.CASES, *processes.CASES)
CASES += (*mechanisms.CASES, *surroundings.CASES, *actions.CASES, *clocks.CASES)
