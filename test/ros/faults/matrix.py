"""All cases, in the order of the table of docs/fault_cases.md."""

from faults import (
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
CASES = (*commands.CASES, *planning.CASES, *life.CASES, *targets_of_tools.CASES)
CASES += (*links.CASES, *lockstep.CASES, *processes.CASES, *mechanisms.CASES, *surroundings.CASES)
