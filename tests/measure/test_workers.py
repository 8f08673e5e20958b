"""Workers take turns: those that wait hold no problem, and make room where memory or a device is lacking."""

from __future__ import annotations

import stat
import threading
from typing import TYPE_CHECKING, cast

import pytest

from ckprof.errors import ToolchainError
from ckprof.measure.workers import WorkerTurns, device_lock

if TYPE_CHECKING:
    from ckprof.measure.workers import ReplacedWorker


class Device:
    """How many processes may be on it; who is, and who has a problem loaded."""

    def __init__(self, most: int = 100) -> None:
        self.most = most
        self.made = 0
        self.on: set[int] = set()
        self.loaded: set[int] = set()


class Worker:
    """A worker that runs where the device lets it."""

    def __init__(self, device: Device) -> None:
        self.device, self.number = device, device.made
        device.made += 1

    @property
    def process(self) -> object | None:
        return self if self.number in self.device.on else None

    def require(self) -> None:
        if self.number not in self.device.on:
            if len(self.device.on) >= self.device.most:
                raise ToolchainError("all devices are busy")
            self.device.on.add(self.number)
        self.device.loaded.add(self.number)

    def rest(self, limit_s: float) -> None:
        self.device.loaded.discard(self.number)

    def leave(self, *, at_once: bool) -> None:
        self.device.on.discard(self.number)
        self.device.loaded.discard(self.number)


def turns_on(device: Device) -> WorkerTurns:
    turns = WorkerTurns(lambda: cast("ReplacedWorker", Worker(device)))
    turns.require()
    return turns


def test_only_the_worker_whose_turn_it_is_holds_a_problem() -> None:
    device = Device()
    turns = turns_on(device)
    assert not turns.take(0, 1.0)
    seen = []
    for number in (1, 2, 0, 1, 2):
        assert turns.take(number, 1.0)
        turns.require()
        assert len(device.loaded) == 1
        seen.append(*device.loaded)
    assert seen == [1, 2, 0, 1, 2] and device.made == 3
    turns.leave(at_once=False)
    assert not device.on


def test_not_more_than_some_wait() -> None:
    device = Device()
    turns = turns_on(device)
    for number in range(1, 30):
        turns.take(number, 1.0)
        turns.require()
    assert len(device.on) == 8 and 29 in device.on
    turns.take(0, 1.0)
    turns.require()
    assert device.made == 31, "one that was ended begins anew"


def test_a_device_for_one_process_is_given_from_one_to_the_next() -> None:
    device = Device(most=1)
    turns = turns_on(device)
    for number in (1, 2, 0, 1):
        turns.take(number, 1.0)
        turns.require()
        assert len(device.on) == 1
    assert device.made == 5
    device.most = 0
    turns.take(2, 1.0)
    with pytest.raises(ToolchainError, match="all devices are busy"):
        turns.require()


def test_those_that_wait_make_room_once() -> None:
    device = Device()
    turns = turns_on(device)
    turns.take(1, 1.0)
    turns.require()
    assert turns.end_waiting() and not turns.end_waiting()
    assert device.on == {1}


def test_second_run_waits_for_the_first(tmp_path):
    order = []
    waiting = threading.Event()

    def second():
        def on_wait(event):
            assert event.text == "waiting for another run on cpu device 0"
            waiting.set()

        with device_lock("cpu", 0, on_wait, tmp_path):
            order.append("second")

    def never(event):
        raise AssertionError(event)

    with device_lock("cpu", 0, never, tmp_path):
        thread = threading.Thread(target=second)
        thread.start()
        assert waiting.wait(5)
        order.append("first")
    thread.join(5)
    assert order == ["first", "second"]


def test_devices_do_not_wait_for_each_other(tmp_path):
    seen = []
    with device_lock("gpu", 0, seen.append, tmp_path), device_lock("gpu", 1, seen.append, tmp_path):
        assert seen == []


def test_default_folder_is_private(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with device_lock("cpu", 0, lambda _: None):
        folder = tmp_path / "ckprof"
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
