"""The page in a real browser: what was computed; an arm sent to a goal, pushed, dragged."""

import chromium
import numpy as np
import pytest
from harness import Ros
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState

import manip_dyn as md
from manip_dyn.ros.nodes.bang_bang_planner import BangBangPlannerNode
from manip_dyn.ros.nodes.clik_tracker import ClikTrackerNode
from manip_dyn.ros.nodes.simulator import SimulatorNode

pytest.importorskip("viser", reason="no viser; expected pip install 'manip_dyn[view]'")
from manip_dyn.ros.nodes.viewer import ViewerNode
from manip_dyn.viewer.figures.robot import robot_figure
from manip_dyn.viewer.page.live import HANDLE

pytestmark = [
    pytest.mark.ros,
    pytest.mark.skipif(bool(chromium.missing()), reason=chromium.missing()),
]
RIGHT = "\ue014"
"""The arrow key, in WebDriver's own code."""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    found = chromium.Chromium(tmp_path_factory.mktemp("chromium"), 500, 320)
    yield found
    found.close()


@pytest.fixture
def ros(browser):
    with Ros() as found:
        yield found
        browser.open("about:blank")  # a page that lost its server asks for it, and logs that
        browser.log()


def colours(view):
    """Return how many different colours the browser draws; an empty canvas has one."""
    clients = list(view.server.get_clients().values())
    if not clients:
        return 0
    picture = clients[0].get_render(120, 200) // 16
    return len(np.unique(picture.reshape(-1, 3), axis=0))


def errors(browser):
    return [each["message"] for each in browser.log() if each["level"] == "SEVERE"]


def test_a_plan_is_drawn_and_follows_the_slider(browser):
    robot = md.load_robot("rr")
    q, t = np.array([[0.0, 0.0], [0.5, 0.5]]), [0.0, 1.0]
    shown = md.view(
        md.view_motion(robot, t, q, title="a motion"), port=0, browser=False, wait=False
    )
    try:
        browser.open(shown.url)
        (slider,) = browser.until(lambda: browser.find("//*[@role='slider']"), "no slider")
        browser.until(lambda: colours(shown) > 5, "the canvas stays empty")
        assert browser.find("//*[contains(text(), 'a motion')]")
        browser.until(
            lambda: float(browser.attribute(slider, "aria-valuenow")) > 0.0, "it does not play"
        )
        assert len(browser.find("//*[contains(@class, 'uplot')]//canvas")) == 1
        assert errors(browser) == []
    finally:
        browser.open("about:blank")  # a page that lost its server turns a wheel, for ever
        shown.close()


def test_a_slider_sends_a_goal_and_the_arm_arrives(browser, ros):
    states = ros.listen(JointState, "joint_states")
    common = {"robot": "rr", "control_period": 0.01}
    ros.start(SimulatorNode, mode="lockstep", command_timeout=0.0, **common)
    ros.start(BangBangPlannerNode, state_timeout=0.0, method="minimum_time", **common)
    viewer = ros.start(ViewerNode, port=0)
    ros.until(lambda: viewer.page is not None, "the arm is not heard")
    browser.open(viewer.url)
    goals = "//button[normalize-space()='go']"
    ros.until(lambda: browser.find(goals), "no goal can be sent")
    slider = browser.find("//*[@role='slider']")[0]
    browser.type(slider, RIGHT * 50)
    ros.until(lambda: browser.attribute(slider, "aria-valuenow") == "0.05", "it stands still")
    own = "//input[@value='minimum_time']"
    ros.until(lambda: browser.find(own), "the planner's own method is not chosen")
    browser.choose("method", "pd")
    browser.click(browser.find(goals)[0])
    ros.until(lambda: abs(states[-1].position[0] - 0.05) < 1e-3, "the arm does not arrive")
    ros.until(lambda: browser.find("//*[contains(text(), 'reached')]"), "no level is told")
    assert abs(states[-1].position[1]) < 1e-3
    count = len(states)
    opened(browser, "push")
    ros.until(lambda: browser.clicked("//button[normalize-space()='push']"), "no push")
    ros.until(lambda: any(abs(s.velocity[0]) > 0.05 for s in states[count:]), "it is not pushed")
    opened(browser, "mass")
    sliders = "//*[@role='slider']"
    ros.until(lambda: browser.typed(sliders, RIGHT * 10), "no factor of the masses")
    slider = browser.find(sliders)[-1]
    ros.until(lambda: browser.attribute(slider, "aria-valuenow") == "1.5", "no other factor")
    ros.until(lambda: browser.clicked("//button[normalize-space()='change']"), "no change")
    done = "//*[contains(text(), '1.5 times the masses of the description')]"
    ros.until(lambda: browser.find(done), "the masses are not changed")
    assert errors(browser) == []


def opened(browser, folder):
    """Click on the title of a folder of controls."""
    title = f"//*[normalize-space(text())='{folder}'][contains(@class, 'Paper')]"
    browser.until(lambda: browser.clicked(title), f"no folder {folder}")


def test_the_arm_follows_the_handle_that_the_mouse_drags(browser, ros):
    figure, states = robot_figure(md.load_robot("ibm7535")), ros.listen(JointState, "joint_states")
    where = {"initial_position": [0.4, 0.9], "controlled": [1.0, 1.0, 0.0, 0.0, 0.0, 0.0]}
    pace = {"step": 0.01, "real_time_factor": 10.0, "gain": 5.0}
    ros.start(ClikTrackerNode, robot="ibm7535", path="target", **where, **pace)
    viewer = ros.start(ViewerNode, port=0)
    ros.until(lambda: viewer.page is not None, "the arm is not heard")
    page = viewer.page
    browser.open(viewer.url)
    browser.run(chromium.drawn(chromium.LIVELY))
    ros.until(lambda: browser.find("//canvas"), "nothing is drawn")
    there = figure.tool(np.array(where["initial_position"]))[0]
    ros.until(
        lambda: page.handle is not None and np.allclose(page.handle.position, there, atol=1e-3),
        "nothing can be dragged",
    )
    before = np.array(page.handle.position)

    def drag():
        """Take the arrow along y in its middle and draw it towards the base."""
        clients = list(page.server.get_clients().values())
        grip = np.add(page.handle.position, [0.0, 0.6 * HANDLE * figure.reach, 0.0])
        if clients:
            ways = (0.0, 0.1, 0.2)
            browser.drag(*(pixel(browser, clients[-1].camera, grip - [0.0, y, 0.0]) for y in ways))

    def dragged():
        return np.linalg.norm(page.handle.position - before) > 0.05

    ros.insist(drag, dragged, "the handle cannot be dragged")
    ros.until(
        lambda: np.linalg.norm((tool(figure, states[-1]) - page.handle.position)[:2]) < 1e-3,
        "the arm does not follow",
    )
    assert np.linalg.norm(tool(figure, states[-1]) - before) > 0.05
    assert errors(browser) == []


def tool(figure, state):
    """Return where the tool is (3,), m."""
    return figure.tool(np.array(state.position))[0]


def pixel(browser, camera, point):
    """Return where a point (3,), m, is seen on the page."""
    left, top, width, height = browser.run(
        "const r = document.querySelector('canvas').getBoundingClientRect();"
        "return [r.left, r.top, r.width, r.height];"
    )
    turn = Rotation.from_quat(np.roll(camera.wxyz, -1))
    x, y, z = turn.inv().apply(np.subtract(point, camera.position))
    focal = 0.5 * height / np.tan(0.5 * camera.fov)
    return round(left + 0.5 * width + focal * x / z), round(top + 0.5 * height + focal * y / z)
