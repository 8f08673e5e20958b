"""The process that learns times: what happens when it cannot, or comes to its end."""

import sys

import pytest

from ckprof.errors import ToolchainError
from ckprof_plugins.emulator import prediction
from ckprof_plugins.emulator.child import Question, Setup
from ckprof_plugins.emulator.prediction import LaunchTimer

QUESTION = Question(key="0" * 32, ndim=2, values=(1,) * 22, split_k=1, tensor_bytes=(4, 4, 4))
#: answers the set-up and so many questions, then ends
ANSWERS = """
import sys
for _ in range(1 + {count}):
    sys.stdin.readline()
    print("{{}}", flush=True)
sys.stdin.readline()
"""


def _setup(library):
    return Setup(library=str(library), arch="gfx942", table="", compute_units=4, most_steps=1000)


def test_a_library_that_is_none_is_refused(tmp_path):
    library = tmp_path / "some.so"
    library.write_text("no library")
    with (
        LaunchTimer(_setup(library)) as times,
        pytest.raises(ToolchainError, match=r"some\.so: times cannot"),
    ):
        times.ask(QUESTION)


def test_a_process_that_ends_costs_one_answer(monkeypatch, tmp_path):
    monkeypatch.setattr(prediction, "_command", lambda: [sys.executable, "-c", ANSWERS.format(count=2)])
    with LaunchTimer(_setup(tmp_path)) as times:
        reasons = [times.ask(QUESTION).reason for _ in range(7)]
    ended = "the kernel ended the process that predicts its time"
    assert reasons == ["", "", ended, "", "", ended, ""]


def test_a_process_that_does_not_start_well_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setattr(prediction, "_command", lambda: [sys.executable, "-c", "pass"])
    with LaunchTimer(_setup(tmp_path)) as times, pytest.raises(ToolchainError, match="its process ended"):
        times.ask(QUESTION)
