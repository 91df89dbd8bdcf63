"""Dynamics, kinematics and time-optimal control of robot manipulators."""

from manip_dyn.clik import (
    Circle as Circle,
)
from manip_dyn.clik import (
    ClikSettings as ClikSettings,
)
from manip_dyn.clik import (
    ComputedTorque as ComputedTorque,
)
from manip_dyn.clik import (
    JointReference as JointReference,
)
from manip_dyn.clik import (
    Line as Line,
)
from manip_dyn.clik import (
    Lissajous as Lissajous,
)
from manip_dyn.clik import (
    Path as Path,
)
from manip_dyn.clik import (
    PathFollower as PathFollower,
)
from manip_dyn.clik import (
    Pose as Pose,
)
from manip_dyn.clik import (
    SmoothTarget as SmoothTarget,
)
from manip_dyn.clik import (
    Target as Target,
)
from manip_dyn.clik import (
    TrackingSample as TrackingSample,
)
from manip_dyn.clik import (
    TrackResult as TrackResult,
)
from manip_dyn.clik import (
    VelocitySolver as VelocitySolver,
)
from manip_dyn.clik import (
    Waypoints as Waypoints,
)
from manip_dyn.clik import (
    path_from_csv as path_from_csv,
)
from manip_dyn.clik import (
    posture_for as posture_for,
)
from manip_dyn.clik import (
    task_error as task_error,
)
from manip_dyn.clik import (
    track as track,
)
from manip_dyn.codegen import (
    Kernels as Kernels,
)
from manip_dyn.codegen import (
    customize as customize,
)
from manip_dyn.collision import (
    Box as Box,
)
from manip_dyn.collision import (
    Capsule as Capsule,
)
from manip_dyn.collision import (
    Clearance as Clearance,
)
from manip_dyn.collision import (
    Cylinder as Cylinder,
)
from manip_dyn.collision import (
    HalfSpace as HalfSpace,
)
from manip_dyn.collision import (
    Mesh as Mesh,
)
from manip_dyn.collision import (
    PostureCheck as PostureCheck,
)
from manip_dyn.collision import (
    Scene as Scene,
)
from manip_dyn.collision import (
    Sphere as Sphere,
)
from manip_dyn.collision import (
    check_motion as check_motion,
)
from manip_dyn.collision import (
    clearance as clearance,
)
from manip_dyn.collision import (
    load_scene as load_scene,
)
from manip_dyn.core.compiled import (
    compiled as compiled,
)
from manip_dyn.core.errors import (
    ManipDynError as ManipDynError,
)
from manip_dyn.ensembles import (
    Ensemble as Ensemble,
)
from manip_dyn.ensembles import (
    simulate_many as simulate_many,
)
from manip_dyn.ensembles.sweeps import (
    Cases as Cases,
)
from manip_dyn.ensembles.sweeps import (
    SweepResult as SweepResult,
)
from manip_dyn.ensembles.sweeps import (
    read_sweep as read_sweep,
)
from manip_dyn.ensembles.sweeps import (
    sweep as sweep,
)
from manip_dyn.export import (
    export_c as export_c,
)
from manip_dyn.export import (
    jax_function as jax_function,
)
from manip_dyn.export import (
    torch_function as torch_function,
)
from manip_dyn.identification import (
    Excitation as Excitation,
)
from manip_dyn.identification import (
    Identification as Identification,
)
from manip_dyn.identification import (
    identify as identify,
)
from manip_dyn.identification import (
    plan_excitation as plan_excitation,
)
from manip_dyn.inspection import (
    Finding as Finding,
)
from manip_dyn.inspection import (
    Inspection as Inspection,
)
from manip_dyn.inspection import (
    check_urdf as check_urdf,
)
from manip_dyn.integration import (
    METHODS as METHODS,
)
from manip_dyn.integration import (
    Events as Events,
)
from manip_dyn.integration import (
    Jacobian as Jacobian,
)
from manip_dyn.integration import (
    Method as Method,
)
from manip_dyn.integration import (
    Problem as Problem,
)
from manip_dyn.integration import (
    RungeKutta as RungeKutta,
)
from manip_dyn.integration import (
    Sampling as Sampling,
)
from manip_dyn.integration import (
    Series as Series,
)
from manip_dyn.integration import (
    Solution as Solution,
)
from manip_dyn.integration import (
    Status as Status,
)
from manip_dyn.integration import (
    StepControl as StepControl,
)
from manip_dyn.integration import (
    Tableau as Tableau,
)
from manip_dyn.integration import (
    integrate as integrate,
)
from manip_dyn.integration import (
    problem as problem,
)
from manip_dyn.integration import (
    tableaus as tableaus,
)
from manip_dyn.multibody import (
    Equilibrium as Equilibrium,
)
from manip_dyn.multibody import (
    FirstOrder as FirstOrder,
)
from manip_dyn.multibody import (
    Joint as Joint,
)
from manip_dyn.multibody import (
    Mechanism as Mechanism,
)
from manip_dyn.multibody import (
    MechanismMotion as MechanismMotion,
)
from manip_dyn.multibody import (
    MechanismSimulation as MechanismSimulation,
)
from manip_dyn.multibody import (
    MovingBody as MovingBody,
)
from manip_dyn.multibody import (
    RotationalSpring as RotationalSpring,
)
from manip_dyn.multibody import (
    Spring as Spring,
)
from manip_dyn.multibody import (
    Tyre as Tyre,
)
from manip_dyn.multibody import (
    UserForce as UserForce,
)
from manip_dyn.multibody import (
    linearize as linearize,
)
from manip_dyn.multibody import (
    load_mechanism as load_mechanism,
)
from manip_dyn.multibody import (
    simulate_mechanism as simulate_mechanism,
)
from manip_dyn.planning import (
    Certificate as Certificate,
)
from manip_dyn.planning import (
    Plan as Plan,
)
from manip_dyn.planning import (
    PlanExecutor as PlanExecutor,
)
from manip_dyn.planning import (
    Tuning as Tuning,
)
from manip_dyn.planning import (
    plan_minimum_time as plan_minimum_time,
)
from manip_dyn.planning import (
    plan_zero_net_work as plan_zero_net_work,
)
from manip_dyn.planning.path_timing import (
    JointPath as JointPath,
)
from manip_dyn.planning.path_timing import (
    PathTiming as PathTiming,
)
from manip_dyn.planning.path_timing import (
    time_path as time_path,
)
from manip_dyn.recording import (
    Recording as Recording,
)
from manip_dyn.recording import (
    record as record,
)
from manip_dyn.robot import (
    Robot as Robot,
)
from manip_dyn.robot import (
    load_robot as load_robot,
)
from manip_dyn.simulation import (
    EffortLaw as EffortLaw,
)
from manip_dyn.simulation import (
    Integrator as Integrator,
)
from manip_dyn.simulation import (
    PDControl as PDControl,
)
from manip_dyn.simulation import (
    Schedule as Schedule,
)
from manip_dyn.simulation import (
    Simulation as Simulation,
)
from manip_dyn.simulation import (
    Trajectory as Trajectory,
)
from manip_dyn.simulation import (
    gravity_compensation as gravity_compensation,
)
from manip_dyn.simulation import (
    simulate as simulate,
)
from manip_dyn.viewer import (
    View as View,
)
from manip_dyn.viewer import (
    view as view,
)

__version__: str
