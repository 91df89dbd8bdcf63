"""The page of something that runs, without a browser: what it offers to be dragged."""

import threading

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.viewer import Controls, Frames, LivePage, Snapshot, robot_figure, start, stop


class Handle:
    """What viser gives to drag; remembers who is told of it."""

    def __init__(self):
        self.position, self.wxyz = np.zeros(3), np.zeros(4)
        self.moved = threading.Event()

    def on_update(self, told):
        self.told = told

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        if name == "wxyz" and hasattr(self, "moved"):
            self.moved.set()

    def drag(self, place):
        self.position = np.array(place)
        self.told(None)


def await_move(handle):
    """Wait until the page moved the handle twice, once surely after this call."""
    for _ in range(2):
        handle.moved.clear()
        assert handle.moved.wait(600.0)


def test_the_handle_follows_the_tool_until_it_is_dragged(monkeypatch):
    pytest.importorskip("viser", reason="no viser; expected pip install 'manip_dyn[view]'")

    figure, q, sent = robot_figure(md.load_robot("rr")), [np.array([0.1, 0.2])], []
    nothing = dict.fromkeys(Controls.__dataclass_fields__)
    controls = Controls(
        **nothing
        | {
            "able": lambda: frozenset({"target"}),
            "target": lambda place, _: sent.append(place),
            "methods": ("pd",),
            "method": str,
        }
    )
    handle, server = Handle(), start(port=0)
    monkeypatch.setattr(server.scene, "add_transform_controls", lambda *_, **__: handle)
    rounds, gate = threading.Semaphore(0), threading.Lock()

    def newest():
        rounds.release()
        with gate:
            return Snapshot(0.0, q[0])

    page = LivePage(server, figure, newest, controls, [])
    try:
        for angles in ([0.1, 0.2], [0.5, -0.3]):
            q[0] = np.array(angles)
            await_move(handle)
            np.testing.assert_allclose(handle.position, figure.tool(q[0])[0])
        with gate:
            while rounds.acquire(blocking=False):
                pass
            assert rounds.acquire(timeout=600.0)  # nothing of the round before is to come any more
            handle.drag([0.3, 0.2, 0.1])
            q[0] = np.zeros(2)
        for _ in range(3):
            assert rounds.acquire(timeout=600.0)
        np.testing.assert_array_equal(handle.position, [0.3, 0.2, 0.1])
        np.testing.assert_array_equal(sent, [[0.3, 0.2, 0.1]])
    finally:
        page.close()
        stop(server)


class Patient(threading.Event):
    """A stop that never comes, on a clock that its waits move on, each by a little more."""

    def __init__(self, late):
        super().__init__()
        self.now, self._late = 0.0, late

    def wait(self, timeout=None):
        self.now += timeout + self._late
        return self.is_set()


def test_frames_keep_their_rate_though_waits_last_longer():
    stop = Patient(0.004)
    frames = Frames(stop, lambda: stop.now)
    assert all(frames.wait(50.0) for _ in range(100))
    assert stop.now == pytest.approx(100 / 50.0 + 0.004)


def test_frames_that_were_missed_are_not_made_up_for():
    stop = Patient(0.0)
    frames = Frames(stop, lambda: stop.now)
    stop.now = 1.0
    assert frames.wait(50.0)
    assert stop.now == 1.0
    for k in range(1, 4):
        assert frames.wait(50.0)
        assert stop.now == pytest.approx(1.0 + k / 50.0)
    stop.set()
    assert not frames.wait(50.0)
