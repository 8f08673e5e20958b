"""Canaries in a worker: times of what can be timed, and objects that are none."""

import pytest

from ckprof.measure.worker.canaries import canary_times
from ckprof.measure.worker.messages import DeviceChoice

from ..canaries import compiled_canary, needs_compiler

pytestmark = [pytest.mark.compiler, needs_compiler]


def test_each_canary_is_timed_on_the_device_with_its_threads(tmp_path):
    """The made-up time says which canary, device and number of threads were asked for."""
    path = compiled_canary(tmp_path, "*ms = which + device / 10.0 + threads / 1000.0 + 1; return 0;")
    times = canary_times(str(path), DeviceChoice(index=2, cpu_threads=7))
    assert times == {"arithmetic": 1.207, "bandwidth": 2.207}


def test_what_is_no_time_is_an_error_of_the_system(tmp_path):
    for name, body in {
        "fails": "*ms = 1; return which;",
        "none": "*ms = which ? 0.0 : 1.0; return 0;",
        "no number": "*ms = which ? 0.0 / 0.0 : 1.0; return 0;",
        "infinite": "*ms = which ? 1e308 * 10 : 1.0; return 0;",
    }.items():
        path = compiled_canary(tmp_path, body, name)
        with pytest.raises(OSError, match="the bandwidth canary cannot be timed"):
            canary_times(str(path), DeviceChoice())


def test_what_is_no_object_of_canaries_is_an_error_of_the_system(tmp_path):
    (tmp_path / "text.so").write_text("no object\n")
    other = compiled_canary(tmp_path, "return 0;", "other", function="something_else")
    for path in (tmp_path / "text.so", tmp_path / "missing.so", other):
        with pytest.raises(OSError, match=path.name):
            canary_times(str(path), DeviceChoice())
