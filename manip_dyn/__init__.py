"""Dynamics, kinematics and time-optimal control of robot manipulators."""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.on_demand import on_demand

if TYPE_CHECKING:
    from manip_dyn.clik import (
        Circle,
        ClikSettings,
        ComputedTorque,
        JointReference,
        Line,
        Lissajous,
        Path,
        PathFollower,
        Pose,
        SmoothTarget,
        Target,
        TrackingSample,
        TrackResult,
        VelocitySolver,
        Waypoints,
        path_from_csv,
        posture_for,
        task_error,
        track,
    )
    from manip_dyn.codegen import (
        Kernels,
        customize,
    )
    from manip_dyn.integrate import (
        METHODS,
        Events,
        Jacobian,
        Method,
        Options,
        RungeKutta,
        Sampling,
        Series,
        Solution,
        Space,
        Status,
        StepControl,
        Tableau,
        compile_engine,
        integrate,
        tableaus,
    )
    from manip_dyn.multibody import (
        Equilibrium,
        FirstOrder,
        Joint,
        Mechanism,
        MechanismMotion,
        MechanismSimulation,
        MovingBody,
        RotationalSpring,
        Spring,
        Tyre,
        UserForce,
        linearize,
        load_mechanism,
        simulate_by_adams,
        simulate_mechanism,
    )
    from manip_dyn.planning import (
        Certificate,
        Plan,
        PlanExecutor,
        Tuning,
        plan_minimum_time,
        plan_zero_net_work,
    )
    from manip_dyn.planning.path_timing import JointPath, PathTiming, time_path
    from manip_dyn.recording import Recording, record
    from manip_dyn.robot import (
        Robot,
        load_robot,
    )
    from manip_dyn.simulation import (
        EffortLaw,
        Integrator,
        Schedule,
        Simulation,
        Trajectory,
        gravity_compensation,
        simulate,
    )
    from manip_dyn.viewer import View, view, view_motion
else:
    # Each folder is loaded when one of its names is first used.
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "clik": (
                "task_error",
                "TrackingSample",
                "Pose",
                "Circle",
                "ClikSettings",
                "ComputedTorque",
                "JointReference",
                "Line",
                "Lissajous",
                "Path",
                "PathFollower",
                "SmoothTarget",
                "Target",
                "TrackResult",
                "VelocitySolver",
                "Waypoints",
                "path_from_csv",
                "posture_for",
                "track",
            ),
            "codegen": (
                "Kernels",
                "customize",
            ),
            "integrate": (
                "Tableau",
                "METHODS",
                "Events",
                "Jacobian",
                "Method",
                "Options",
                "RungeKutta",
                "Sampling",
                "Series",
                "Solution",
                "Space",
                "Status",
                "StepControl",
                "compile_engine",
                "integrate",
                "tableaus",
            ),
            "multibody": (
                "Equilibrium",
                "FirstOrder",
                "Joint",
                "Mechanism",
                "MechanismMotion",
                "MechanismSimulation",
                "MovingBody",
                "RotationalSpring",
                "Spring",
                "Tyre",
                "UserForce",
                "linearize",
                "load_mechanism",
                "simulate_by_adams",
                "simulate_mechanism",
            ),
            "planning": (
                "Certificate",
                "Plan",
                "PlanExecutor",
                "Tuning",
                "plan_minimum_time",
                "plan_zero_net_work",
            ),
            "planning.path_timing": ("JointPath", "PathTiming", "time_path"),
            "recording": ("Recording", "record"),
            "robot": (
                "Robot",
                "load_robot",
            ),
            "simulation": (
                "gravity_compensation",
                "EffortLaw",
                "Integrator",
                "Schedule",
                "Simulation",
                "Trajectory",
                "simulate",
            ),
            "viewer": ("View", "view", "view_motion"),
        },
    )


class _Package(ModuleType):
    """This package, whose `integrate` is the function, not the folder that it comes from."""

    def __setattr__(self, name: str, value: Any) -> None:
        """Bind a name; Python binds the name of each folder to the folder once it is loaded."""
        if not (name == "integrate" and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package

__version__ = "0.2.0"

__all__ = [
    "gravity_compensation",
    "Tableau",
    "task_error",
    "TrackingSample",
    "Pose",
    "METHODS",
    "Certificate",
    "Circle",
    "ClikSettings",
    "ComputedTorque",
    "EffortLaw",
    "Equilibrium",
    "Events",
    "FirstOrder",
    "Integrator",
    "Jacobian",
    "Joint",
    "JointPath",
    "JointReference",
    "Kernels",
    "Line",
    "Lissajous",
    "ManipDynError",
    "Mechanism",
    "MechanismMotion",
    "MechanismSimulation",
    "Method",
    "MovingBody",
    "Options",
    "Path",
    "PathFollower",
    "PathTiming",
    "Plan",
    "PlanExecutor",
    "Recording",
    "Robot",
    "RotationalSpring",
    "RungeKutta",
    "Sampling",
    "Schedule",
    "Series",
    "Simulation",
    "SmoothTarget",
    "Solution",
    "Space",
    "Spring",
    "Status",
    "StepControl",
    "Target",
    "TrackResult",
    "Trajectory",
    "Tuning",
    "Tyre",
    "UserForce",
    "VelocitySolver",
    "View",
    "Waypoints",
    "compile_engine",
    "customize",
    "integrate",
    "linearize",
    "load_mechanism",
    "load_robot",
    "path_from_csv",
    "plan_minimum_time",
    "plan_zero_net_work",
    "posture_for",
    "record",
    "simulate",
    "simulate_by_adams",
    "simulate_mechanism",
    "tableaus",
    "time_path",
    "track",
    "view",
    "view_motion",
]
