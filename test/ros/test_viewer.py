"""The viewer in a real browser: a computed motion; a goal and a push for an arm."""

import chromium
import numpy as np
import pytest
from harness import Ros
from sensor_msgs.msg import JointState

import manip_dyn as md
from manip_dyn.ros import BangBangPlannerNode, SimulatorNode

pytest.importorskip("viser", reason="no viser; pip install 'manip_dyn[view]'")
from manip_dyn.ros import ViewerNode

pytestmark = [
    pytest.mark.ros,
    pytest.mark.skipif(bool(chromium.missing()), reason=chromium.missing()),
]
RIGHT = "\ue014"
"""The right arrow key in WebDriver's encoding."""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    chrome = chromium.Chromium(tmp_path_factory.mktemp("chromium"), 500, 320)
    yield chrome
    chrome.close()


@pytest.fixture
def ros(browser):
    with Ros() as graph:
        yield graph
        browser.open("about:blank")  # a page without its server reconnects and logs errors
        browser.log()


def colours(view):
    """Return the number of colours on the canvas; an empty one has one."""
    clients = list(view.server.get_clients().values())
    if not clients:
        return 0
    picture = clients[0].get_render(120, 200) // 16
    return len(np.unique(picture.reshape(-1, 3), axis=0))


def errors(browser):
    return [entry["message"] for entry in browser.log() if entry["level"] == "SEVERE"]


def test_a_plan_is_drawn_and_follows_the_slider(browser):
    robot = md.load_robot("rr")
    q, t = np.array([[0.0, 0.0], [0.5, 0.5]]), [0.0, 1.0]
    shown = md.view(
        md.viewer.view_motion(robot, t, q, title="a motion"), port=0, browser=False, wait=False
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
        browser.open("about:blank")  # a page without its server never becomes idle
        shown.close()


def test_a_slider_sends_a_goal_and_the_arm_arrives(browser, ros):
    states = ros.listen(JointState, "joint_states")
    common = {"robot": "rr", "control_period": 0.01}
    ros.start(SimulatorNode, mode="lockstep", command_timeout=0.0, **common)
    ros.start(BangBangPlannerNode, state_timeout=0.0, method="minimum_time", **common)
    viewer = ros.start(ViewerNode, port=0)
    ros.until(lambda: viewer.page is not None, "no joint states are received")
    browser.open(viewer.url)
    goals = "//button[normalize-space()='go']"
    ros.until(lambda: browser.find(goals), "no goal can be sent")
    slider = browser.find("//*[@role='slider']")[0]
    browser.type(slider, RIGHT * 50)
    ros.until(lambda: browser.attribute(slider, "aria-valuenow") == "0.05", "it stands still")
    default_method = "//input[@value='minimum_time']"
    ros.until(lambda: browser.find(default_method), "the planner's method is not selected")
    browser.choose("method", "pd")
    browser.click(browser.find(goals)[0])
    ros.until(lambda: abs(states[-1].position[0] - 0.05) < 1e-3, "the arm does not arrive")
    ros.until(lambda: browser.find("//*[contains(text(), 'reached')]"), "no state is shown")
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
