"""Rule sets asked for by name, each call once per session."""

from functools import cache

import pytest

from ckprof.model.architecture import find_architecture
from ckprof.model.types import DataType
from ckprof.plugin.protocols import RuleSetRequest

DTYPES = (DataType.FP16, DataType.BF16, DataType.FP32)


@pytest.fixture(scope="session")
def entries_of(registry):
    """Return the entries of a rule set."""

    @cache
    def enumerate_set(rule_set, arch, directions=("fwd", "bwd_data", "bwd_weight"), ndims=(2, 3)):
        return registry.rule_sets.find(rule_set).enumerate(
            RuleSetRequest(
                arch=find_architecture(arch),
                directions=directions,
                ndims=ndims,
                dtypes=DTYPES,
                read_lists=lambda folder: (),
            )
        )

    return enumerate_set
