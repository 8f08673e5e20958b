"""What the levels express of the shipped lists."""

import pytest

from ckprof.model.architecture import API_LEVEL_2025_11
from tests.plugins.pipelines.level_counts import OPERATIONS, counts

pytestmark = pytest.mark.thorough


def test_lists_of_all_operations_have_kernels_of_november_2025():
    found = counts(API_LEVEL_2025_11)
    for folder in OPERATIONS:
        lists = [one for one in found if one.name.startswith(folder) and "fp16" in one.name]
        assert any(one.expressed for one in lists), folder
    # whatever is left out is left out by rules of the level
    reasons = {rule for one in found for rule in one.rejected}
    assert reasons == {"api-level-feature", "shuffle-repeat"}
