"""What machine code tells of occupancy goes into the traits of measured kernels."""

from pathlib import Path

import pytest

from ckprof.errors import InputError
from ckprof.kernels.inspection import InspectedKernel, Inspection
from ckprof.model.device import Occupancy
from ckprof.model.gemm_work import KernelTraits
from ckprof_plugins.tuning.time_model.measurements import Measurements
from ckprof_plugins.tuning.training import with_occupancy
from tests.report.test_inspection_report import device_kernel

REPORT = Path("report.json")


def inspection(name, workgroups):
    occupancy = Occupancy(waves_per_simd=1, workgroups_per_cu=workgroups, limited_by="lds")
    kernel = InspectedKernel(name=name, key="0" * 32, variants=(device_kernel(occupancy=occupancy),))
    return Inspection(target="hip", arch="gfx942", api_level="", compiler="", kernels=(kernel,))


def test_real_occupancy_replaces_that_of_the_configuration():
    traits = KernelTraits(tile=(64, 64, 64))
    table = Measurements(sources=(), problems=(), kernels={"a": traits, "b": traits}, times={})
    found = with_occupancy(table, inspection("a", 5), REPORT)
    assert [found.kernels[name].workgroups_per_unit for name in "ab"] == [5, traits.workgroups_per_unit]
    # a kernel that does not fit at all would never have been measured
    assert with_occupancy(table, inspection("b", 0), REPORT).kernels["b"].workgroups_per_unit == 1
    with pytest.raises(InputError, match="none of the kernels"):
        with_occupancy(table, inspection("c", 2), REPORT)
