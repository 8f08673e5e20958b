"""What keeps Parsl from starting is one message, and is not waited for."""

from __future__ import annotations

import inspect
from types import SimpleNamespace

import pytest

from ckprof.errors import ToolchainError
from ckprof_plugins.cluster.parsl_engine import failing_jobs, own_address, wrong_value


def provider(nodes: int = 1, name: str = "x", parallelism=1, exclusive=True, environment=None): ...


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("nodes", 2, ""),
        ("nodes", "two", "int"),
        ("nodes", True, "int"),
        ("name", 3, "str"),
        ("parallelism", 0.5, ""),
        ("parallelism", "many", "number"),
        ("exclusive", "no", "bool"),
        ("environment", ["anything"], ""),
    ],
)
def test_values_of_another_type_are_found(name, value, expected):
    parameter = inspect.signature(provider, eval_str=True).parameters[name]
    assert wrong_value(parameter, value) == expected
    assert wrong_value(inspect.signature(provider).parameters[name], value) == expected


def test_an_address_is_one_of_this_machine():
    assert own_address("localhost") in ("127.0.0.1", "::1")
    # of networks for documentation
    for name in ("192.0.2.1", "no.such.host.invalid", "a" * 300, ""):
        with pytest.raises(ToolchainError, match=r"parsl\.address .* cannot be used: .*; name an address"):
            own_address(name or "256.1.1.1")


def job(state="FAILED", message=None, code=None, said=None):
    return SimpleNamespace(
        state=SimpleNamespace(name=state),
        message=message,
        exit_code=code,
        stderr_summary=said,
        stdout_summary="printed",
    )


@pytest.mark.parametrize(
    ("jobs", "said"),
    [
        ([job("RUNNING")], ""),
        ([job(), job("RUNNING")], ""),
        ([job()], ""),
        (
            [job(), job(said="sbatch:\n\tnot\x1b found", code=127)],
            r"exit status 127; sbatch: not\u001b found",
        ),
        ([job(), job("MISSING", message="it is gone")], "it is gone; printed; scripts"),
    ],
)
def test_jobs_that_all_fail_are_told_in_one_line(jobs, said, tmp_path):
    seen = []
    executor = SimpleNamespace(
        provider=SimpleNamespace(init_blocks=2), set_bad_state_and_fail_all=seen.append
    )
    failing_jobs("slurm", tmp_path)(executor, dict(enumerate(jobs)))
    assert bool(seen) is bool(said)
    if seen:
        text = str(seen[0])
        assert text.startswith("jobs of provider slurm end before a worker starts: ") and said in text
        assert str(tmp_path) in text and "\n" not in text
