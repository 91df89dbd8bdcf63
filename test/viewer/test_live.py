"""Live page without a browser: the handle of the target, and the schedule of frames."""

import threading

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.viewer import Controls, Frames, LivePage, Snapshot, robot_figure, start, stop


class Handle:
    """Replacement of the transform controls of viser."""

    def __init__(self):
        self.position, self.wxyz = np.zeros(3), np.zeros(4)
        self.moved = threading.Event()

    def on_update(self, callback):
        self.callback = callback

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        if name == "wxyz" and hasattr(self, "moved"):
            self.moved.set()

    def drag(self, position):
        self.position = np.array(position)
        self.callback(None)


def await_move(handle):
    """Wait until the page has moved the handle twice, at least once after this call."""
    for _ in range(2):
        handle.moved.clear()
        assert handle.moved.wait(600.0)


def test_the_handle_follows_the_tool_until_it_is_dragged(monkeypatch):
    pytest.importorskip("viser", reason="no viser; pip install 'manip_dyn[view]'")

    figure, q, sent = robot_figure(md.load_robot("rr")), [np.array([0.1, 0.2])], []
    unused = dict.fromkeys(Controls.__dataclass_fields__)
    controls = Controls(
        **unused
        | {
            "able": lambda: frozenset({"target"}),
            "target": lambda position, _: sent.append(position),
            "methods": ("pd",),
            "method": str,
        }
    )
    handle, server = Handle(), start(port=0)
    monkeypatch.setattr(server.scene, "add_transform_controls", lambda *_, **__: handle)
    snapshots, gate = threading.Semaphore(0), threading.Lock()

    def newest():
        snapshots.release()
        with gate:
            return Snapshot(0.0, q[0])

    page = LivePage(server, figure, newest, controls, [])
    try:
        for angles in ([0.1, 0.2], [0.5, -0.3]):
            q[0] = np.array(angles)
            await_move(handle)
            np.testing.assert_allclose(handle.position, figure.tool(q[0])[0])
        with gate:
            while snapshots.acquire(blocking=False):
                pass
            assert snapshots.acquire(timeout=600.0)  # the previous snapshot has been processed
            handle.drag([0.3, 0.2, 0.1])
            q[0] = np.zeros(2)
        for _ in range(3):
            assert snapshots.acquire(timeout=600.0)
        np.testing.assert_array_equal(handle.position, [0.3, 0.2, 0.1])
        np.testing.assert_array_equal(sent, [[0.3, 0.2, 0.1]])
    finally:
        page.close()
        stop(server)


class FakeClock(threading.Event):
    """Event whose waits advance a clock, each with a delay."""

    def __init__(self, late):
        super().__init__()
        self.now, self._late = 0.0, late

    def wait(self, timeout=None):
        self.now += timeout + self._late
        return self.is_set()


def test_delays_of_single_frames_do_not_accumulate():
    stop = FakeClock(0.004)
    frames = Frames(stop, lambda: stop.now)
    assert all(frames.wait(50.0) for _ in range(100))
    assert stop.now == pytest.approx(100 / 50.0 + 0.004)


def test_missed_frames_are_skipped():
    stop = FakeClock(0.0)
    frames = Frames(stop, lambda: stop.now)
    stop.now = 1.0
    assert frames.wait(50.0)
    assert stop.now == 1.0
    for k in range(1, 4):
        assert frames.wait(50.0)
        assert stop.now == pytest.approx(1.0 + k / 50.0)
    stop.set()
    assert not frames.wait(50.0)
