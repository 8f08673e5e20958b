"""A call in a fork is what a process of its own would be, and one that takes too long leaves none behind."""

import os
import subprocess

import pytest

from tests.called import ckprof_apart


@pytest.mark.parametrize("arguments", [("list", "directions"), ("--unknown",)])
def test_a_call_says_what_a_process_says(forked_calls, tmp_path, arguments):
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "60"}
    assert forked_calls.serves(environment)
    called = forked_calls.call(arguments, tmp_path, environment, 60)
    assert called == ckprof_apart(*arguments, cwd=tmp_path, env=environment)


def test_a_call_that_takes_too_long_ends(forked_calls, tmp_path):
    with pytest.raises(subprocess.TimeoutExpired):
        forked_calls.call(("list", "directions"), tmp_path, os.environ, 0.0)
    code, output, _ = forked_calls.call(("--version",), tmp_path, os.environ, 60)
    assert (code, output.split()[0]) == (0, "ckprof")
    assert not forked_calls.serves({**os.environ, "PYTHONHASHSEED": "12345"})
