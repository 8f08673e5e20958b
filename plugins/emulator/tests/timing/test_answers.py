"""Answers of the emulated device that are kept."""

import os
import sys
import time

import pytest

from ckprof_plugins.emulator import prediction
from ckprof_plugins.emulator.answers import AnswerCache
from ckprof_plugins.emulator.child import Answer, Question
from ckprof_plugins.emulator.prediction import predict
from ckprof_plugins.emulator.tables import find_model

QUESTION = Question(key="0" * 32, ndim=2, values=(1,) * 22, split_k=1, tensor_bytes=(4, 4, 4))
OTHER = Question(key="0" * 32, ndim=2, values=(2,) * 22, split_k=1, tensor_bytes=(4, 4, 4))
#: notes each question, and ends at one whose batch is 2
CHILD = """
import json, sys
sys.stdin.readline()
print("{{}}", flush=True)
for line in sys.stdin:
    with open({log!r}, "a") as log:
        log.write("asked\\n")
    if json.loads(line)["values"][0] == 2:
        raise SystemExit
    print(json.dumps({{"unsupported": True, "reason": "K is odd"}}), flush=True)
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CKPROF_CACHE_DIR", str(tmp_path / "cache"))


def test_answers_of_the_same_machine_code_are_asked_for_once(tmp_path, monkeypatch):
    log = tmp_path / "log"
    command = [sys.executable, "-c", CHILD.format(log=str(log))]
    monkeypatch.setattr(prediction, "_command", lambda: command)

    def asked(questions, *machine_code, model="MI300X", profile=False):
        log.write_text("")
        options = {"profile": profile, "machine_code": machine_code}
        found = [*predict(tmp_path / "a.so", "gfx942", find_model("gfx942", model), questions, **options)]
        return [answer.reason for _, answer in found], len(log.read_text().splitlines())

    assert asked([QUESTION], "code") == (["K is odd"], 1)
    assert asked([QUESTION], "code") == (["K is odd"], 0)
    # whatever it depends on makes it another one
    assert asked([QUESTION], "other code")[1] == 1
    assert asked([QUESTION], "code", model="MI308X")[1] == 1
    assert asked([QUESTION], "code", profile=True)[1] == 1
    # without a digest, and of what failed, nothing is kept
    assert asked([QUESTION], "")[1] == 1
    assert asked([QUESTION])[1] == 1
    ended = "the kernel ended the process that predicts its time"
    for _ in range(2):
        assert asked([OTHER, QUESTION], "code", "code") == ([ended, "K is odd"], 1)


def test_damaged_answers_and_those_that_nobody_uses(tmp_path):
    answer = Answer(unsupported=True, reason="K is odd")
    cache = AnswerCache("model", "gfx942", profile=False)
    cache.keep(QUESTION, "code", answer)
    cache.keep(OTHER, "code", answer)
    assert cache.find(QUESTION, "code") == answer
    path = cache.path(QUESTION, "code")
    path.write_bytes(path.read_bytes()[:-3])
    assert cache.find(QUESTION, "code") is None
    old = cache.path(OTHER, "code")
    os.utime(old, (time.time() - 31 * 24 * 3600,) * 2)
    AnswerCache("model", "gfx942", profile=False)
    assert [path.exists() for path in (path, old)] == [True, False]
