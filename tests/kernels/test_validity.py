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
    fine = check_validity(candidates, "gfx942", LATEST_API_LEVEL)
    assert fine.valid and len(fine.valid) + len(fine.invalid) == len(candidates)
    for one in fine.invalid:
        expected = one.candidate.pipeline.unmet_requirements(
            one.candidate.instance, "gfx942", LATEST_API_LEVEL
        )
        assert one.unmet_requirements == tuple(expected)
    nothing = check_validity(candidates, "gfx1201", LATEST_API_LEVEL)
    assert not nothing.valid and all(one.reason.endswith(")") for one in nothing.invalid)


def test_a_known_defect_comes_first(candidates):
    valid = check_validity(candidates, "gfx942", LATEST_API_LEVEL).valid
    defect = UnmetRequirement(rule="known-wrong", message="reads beyond its tile")
    checked = check_validity([replace(valid[0], defect=defect), valid[1]], "gfx942", LATEST_API_LEVEL)
    assert checked.valid == (valid[1],)
    assert checked.invalid[0].reason == "reads beyond its tile (known-wrong)"


def test_positions_count_valid_and_invalid_ones_apart(candidates):
    defect = UnmetRequirement(rule="known-wrong", message="wrong")
    valid = check_validity(candidates, "gfx942", LATEST_API_LEVEL).valid[:4]
    mixed = [replace(one, defect=defect) if index % 2 else one for index, one in enumerate(valid)]
    checked = check_validity(mixed, "gfx942", LATEST_API_LEVEL).renumbered()
    assert [one.index for one in checked.valid] == [0, 1]
    assert [one.candidate.index for one in checked.invalid] == [0, 1]
