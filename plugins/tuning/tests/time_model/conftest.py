"""Measured tables, and models fitted to them, shared by the tests."""

import pytest

from ckprof_plugins.directions._convolution.problem import ConvProblem
from ckprof_plugins.pipelines.kernel_name import traits_of_name
from ckprof_plugins.tuning.measured_tables import read_csv
from ckprof_plugins.tuning.model_use import KernelKind
from ckprof_plugins.tuning.time_model.measurements import merged
from ckprof_plugins.tuning.training import fit_model
from plugins.tuning.tests.sizes import forward_with_runs
from tests.places import TESTS

MEASURED = TESTS / "data" / "measured"


def fitted(table, compute_units=256):
    kind = KernelKind(direction="fwd", dtype="bf16", device="gfx950", compute_units=compute_units)
    return fit_model(table, forward_with_runs, kind)


@pytest.fixture(scope="session")
def table_20():
    return read_csv(MEASURED / "gfx950_fwd_bf16_20kernels.csv", traits_of_name, (ConvProblem,))


@pytest.fixture(scope="session")
def table_30():
    return read_csv(MEASURED / "gfx950_fwd_bf16_30kernels_even.csv", traits_of_name, (ConvProblem,))


@pytest.fixture(scope="session")
def model_20(table_20):
    return fitted(table_20)


@pytest.fixture(scope="session")
def model_both(table_20, table_30):
    return fitted(merged((table_20, table_30)))
