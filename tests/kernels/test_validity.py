"""One function says what is valid, for lists and rule sets alike."""

from __future__ import annotations

from dataclasses import replace

import pytest

import ckprof
from ckprof.kernels.candidates import check_validity
from ckprof.model.architecture import LATEST_API_LEVEL
from ckprof.model.requirement import UnmetRequirement


@pytest.fixture(scope="module")
def candidates():
    query = ckprof.InstanceQuery(conf="forward/tests/nhwgc_fp16")
    return ckprof.Profiler().instances(query).candidates


def test_what_pipelines_reject_is_invalid_with_every_reason(candidates):
    valid, invalid = check_validity(candidates, "gfx942", LATEST_API_LEVEL)
    assert valid and len(valid) + len(invalid) == len(candidates)
    for one in invalid:
        expected = one.candidate.pipeline.unmet_requirements(
            one.candidate.instance, "gfx942", LATEST_API_LEVEL
        )
        assert one.unmet_requirements == tuple(expected)
    valid, invalid = check_validity(candidates, "gfx1201", LATEST_API_LEVEL)
    assert not valid and all(one.reason.endswith(")") for one in invalid)


def test_a_known_defect_comes_first(candidates):
    valid = check_validity(candidates, "gfx942", LATEST_API_LEVEL)[0]
    defect = UnmetRequirement(rule="known-wrong", message="reads beyond its tile")
    known = [replace(valid[0], defect=defect), valid[1]]
    fine, invalid = check_validity(known, "gfx942", LATEST_API_LEVEL)
    assert fine == (valid[1],)
    assert invalid[0].reason == "reads beyond its tile (known-wrong)"


def test_positions_count_valid_and_invalid_ones_apart():
    selection = ckprof.Profiler().instances(
        ckprof.InstanceQuery(rule_set="full-tests", directions="fwd", arch="gfx942")
    )
    assert [one.index for one in selection.candidates] == list(range(len(selection.candidates)))
    assert len(selection.invalid) > 1
    assert [one.candidate.index for one in selection.invalid] == list(range(len(selection.invalid)))
