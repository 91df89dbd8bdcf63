"""Demo scenarios, which `manip_dyn demo` runs without `ros2 launch`."""

from manip_dyn.demo.processes import RunFailedError as RunFailedError
from manip_dyn.demo.processes import await_watcher as await_watcher
from manip_dyn.demo.processes import perform_run as perform_run
from manip_dyn.demo.processes import wait_for_interrupt as wait_for_interrupt
from manip_dyn.demo.processes import watched_run as watched_run
from manip_dyn.demo.runs import ProgressLines as ProgressLines
from manip_dyn.demo.runs import control_period as control_period
from manip_dyn.demo.runs import memory_growth as memory_growth
from manip_dyn.demo.runs import soak as soak
from manip_dyn.demo.scenarios import ANY_ROBOT as ANY_ROBOT
from manip_dyn.demo.scenarios import SCENARIOS as SCENARIOS
from manip_dyn.demo.scenarios import Run as Run
from manip_dyn.demo.scenarios import check_arguments as check_arguments
from manip_dyn.demo.scenarios import check_installed as check_installed
from manip_dyn.demo.scenarios import description_of as description_of
from manip_dyn.demo.scenarios import scenario as scenario
