"""Builds beside measurements: what they say comes when they are waited for, and they can be abandoned."""

import threading

import pytest

from ckprof.errors import ToolchainError
from ckprof.events import Message, Progress
from ckprof.kernels.choose import Selection
from ckprof.kernels.requests import BuildOptions
from ckprof.session import Session
from ckprof_plugins.tuning import kernel_build
from ckprof_plugins.tuning.kernel_build import KernelBuild

SELECTION = Selection(conversions=(), candidates=(), source="a test")
LIMIT_S = 60.0


@pytest.fixture
def said():
    return []


@pytest.fixture
def session(said):
    return Session(settings=None, manager=None, emit=said.append)


def test_a_build_waits_until_it_is_waited_for(session, said, monkeypatch):
    def build(own, *_, **__):
        assert own is session and threading.current_thread() is threading.main_thread()
        own.emit(Progress(what="build", done=1, total=1, name="a"))
        return "library"

    monkeypatch.setattr(kernel_build, "build_checked_library", build)
    task = KernelBuild(session, SELECTION, BuildOptions())
    assert task.is_over, "waiting is all there is to do"
    assert task.wait() == "library"
    assert len(said) == 1


def test_a_build_beside_other_work_says_at_the_end_what_matters(session, said, monkeypatch):
    go = threading.Event()

    def build(own, *_, **__):
        assert threading.current_thread() is not threading.main_thread()
        assert go.wait(LIMIT_S)
        own.emit(Progress(what="build", done=1, total=1, name="a"))
        own.emit(Message("b"))
        return "library"

    monkeypatch.setattr(kernel_build, "build_checked_library", build)
    task = KernelBuild(session, SELECTION, BuildOptions())
    task.begin()
    assert not task.is_over
    go.set()
    assert task.wait() == "library"
    assert said == [Message("b")]
    assert task.is_over and task.seconds > 0


def test_an_error_is_raised_where_the_build_is_waited_for(session, monkeypatch):
    def build(*_, **__):
        raise ToolchainError("no compiler")

    monkeypatch.setattr(kernel_build, "build_checked_library", build)
    task = KernelBuild(session, SELECTION, BuildOptions())
    task.begin()
    with pytest.raises(ToolchainError, match="no compiler"):
        task.wait()


def test_an_abandoned_build_ends_with_its_next_step(session, said, monkeypatch):
    begun, abandoned = threading.Event(), threading.Event()
    steps = []

    def build(own, *_, **__):
        begun.set()
        assert abandoned.wait(LIMIT_S)
        for step in range(3):
            own.emit(Progress(what="build", done=step, total=3, name="a"))
            steps.append(step)

    monkeypatch.setattr(kernel_build, "build_checked_library", build)
    task = KernelBuild(session, SELECTION, BuildOptions())
    task.begin()
    assert begun.wait(LIMIT_S)
    task.abandon(wait=False)
    abandoned.set()
    task.abandon()
    assert task.is_over and not steps and not said
