"""The lock of a device: one run after the other, and nobody else can take it away."""

import os
import stat
import threading

from ckprof.events import Level
from ckprof.measure.workers import device_lock


def test_second_run_waits_for_the_first(tmp_path):
    order = []
    waiting = threading.Event()

    def second():
        def on_wait(event):
            assert event.text.startswith(f"waiting for process {os.getpid()} since 20")
            assert event.text.endswith(" on cpu device 0") and event.level is Level.WARNING
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


def test_runs_of_one_thread_do_not_wait_for_each_other(tmp_path):
    told, done = [], threading.Event()
    path = tmp_path / "cpu-0.lock"

    def third():
        with device_lock("cpu", 0, told.append, tmp_path):
            done.set()

    first, second = (device_lock("cpu", 0, told.append, tmp_path) for _ in range(2))
    first.__enter__()
    second.__enter__()
    assert told == []
    first.__exit__(None, None, None)
    thread = threading.Thread(target=third)
    thread.start()
    assert not done.wait(0.2), f"{path} is free while the second run has it"
    second.__exit__(None, None, None)
    thread.join(5)
    assert done.is_set() and len(told) == 1


def test_devices_do_not_wait_for_each_other(tmp_path):
    seen = []
    with device_lock("gpu", 0, seen.append, tmp_path), device_lock("gpu", 1, seen.append, tmp_path):
        assert seen == []


def test_default_folder_is_private(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with device_lock("cpu", 0, lambda _: None):
        folder = tmp_path / "ckprof"
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
