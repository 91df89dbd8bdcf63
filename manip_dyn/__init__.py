"""Dynamics, kinematics and time-optimal control of robot manipulators."""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.on_demand import on_demand
from manip_dyn.core.version import VERSION

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
    from manip_dyn.ensembles import Ensemble, simulate_many
    from manip_dyn.ensembles.sweeps import Cases, SweepResult, read_sweep, sweep
    from manip_dyn.export import export_c, jax_function, torch_function
    from manip_dyn.identification import Excitation, Identification, excitation, identify
    from manip_dyn.inspection import Finding, Inspection, check
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
        PDControl,
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
            "ensembles": ("Ensemble", "simulate_many"),
            "ensembles.sweeps": ("Cases", "SweepResult", "read_sweep", "sweep"),
            "export": ("export_c", "jax_function", "torch_function"),
            "identification": ("Excitation", "Identification", "excitation", "identify"),
            "inspection": ("Finding", "Inspection", "check"),
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
                "PDControl",
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

__version__ = VERSION

__all__ = [
    "gravity_compensation",
    "Tableau",
    "task_error",
    "TrackingSample",
    "Pose",
    "METHODS",
    "Cases",
    "Certificate",
    "Circle",
    "ClikSettings",
    "ComputedTorque",
    "EffortLaw",
    "Ensemble",
    "Equilibrium",
    "Events",
    "Excitation",
    "Finding",
    "FirstOrder",
    "Identification",
    "Inspection",
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
    "PDControl",
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
    "SweepResult",
    "Target",
    "TrackResult",
    "Trajectory",
    "Tuning",
    "Tyre",
    "UserForce",
    "VelocitySolver",
    "View",
    "Waypoints",
    "check",
    "compile_engine",
    "customize",
    "excitation",
    "export_c",
    "identify",
    "integrate",
    "jax_function",
    "linearize",
    "load_mechanism",
    "load_robot",
    "path_from_csv",
    "plan_minimum_time",
    "plan_zero_net_work",
    "posture_for",
    "read_sweep",
    "record",
    "simulate",
    "simulate_by_adams",
    "simulate_many",
    "simulate_mechanism",
    "sweep",
    "tableaus",
    "time_path",
    "torch_function",
    "track",
    "view",
    "view_motion",
]
