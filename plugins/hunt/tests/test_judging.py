"""Answers of support tests are held against products in Python's integers, which have no end."""

from __future__ import annotations

from math import prod

import pytest

from ckprof_plugins.hunt.judging import large_answers, range_findings


def too_large(problem, _):
    return (
        max(
            problem.groups * problem.in_channels * prod(problem.input) * problem.batch,
            problem.groups * problem.out_channels * prod(problem.output) * problem.batch,
            problem.groups * problem.in_channels * problem.out_channels * prod(problem.filter),
        )
        * 2
        > 2**31
        or problem.groups > 65535
    )


@pytest.mark.parametrize("direction", ["fwd", "bwd_data", "bwd_weight"])
def test_who_says_yes_to_everything_is_named(hunted, direction):
    hunt = hunted(direction)
    answers = large_answers(hunt)
    assert sum(map(len, answers.values())) > 50
    found = range_findings(hunt, answers)
    texts = " ".join(one.text for one in found)
    assert (
        "weight are addressed" in texts and "workgroups along y" in texts and "bytes of the result" in texts
    )
    assert all(one.value > one.most for one in found)


def test_who_says_no_to_what_is_too_large_is_not(hunted):
    hunt = hunted("bwd_weight", too_large)
    assert range_findings(hunt, large_answers(hunt)) == []


def test_the_model_counts_in_64_bits(hunted):
    hunt = hunted("bwd_weight")
    hunt.target.embedded = True
    assert not any("launch" in one.text for one in range_findings(hunt, large_answers(hunt)))
