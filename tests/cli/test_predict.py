"""``ckprof predict`` where nothing can be predicted."""

from __future__ import annotations

PROBLEM = "conv -n 1 -c 64 -H 14 -W 14 -k 64 -y 1 -x 1 -F 1"


def test_a_target_that_predicts_no_times_is_refused(ckprof):
    called = ckprof(
        "predict", "fwd", "--rule-set", "tiny", "--arch", "gfx942", "--target", "cpu", "--problem", PROBLEM
    )
    assert called.code == 2
    assert "--target cpu predicts no times; these do: hip" in called.err


def test_problems_are_needed(ckprof):
    called = ckprof("predict", "fwd", "--rule-set", "tiny", "--arch", "gfx942", "--target", "hip")
    assert called.code == 2
    assert "no problem to predict times for" in called.err
