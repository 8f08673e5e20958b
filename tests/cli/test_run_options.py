"""Which problems a command is told to run, and how."""

from __future__ import annotations


def test_a_problem_set_of_a_run(ckprof):
    called = ckprof(
        *("run", "fwd", "--conf", "forward/tests/nhwgc_fp16", "--instance", "1"),
        *("--problem-set", "resnet50", "--batch", "4", "--dry-run"),
    )
    assert called.code == 0
    assert "23 problems" in called.out + called.err or "N4 K64 C3 in 224x224" in called.out + called.err


def test_a_batch_without_a_set(ckprof):
    called = ckprof("run", "fwd", "--conf", "forward/tests/nhwgc_fp16", "--batch", "4", "--dry-run")
    assert called.code == 2
    assert "requires --problem-set" in called.err
