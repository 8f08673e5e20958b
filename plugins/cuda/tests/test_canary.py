"""The canaries of NVIDIA GPUs compile without one."""

import subprocess

import pytest

from ckprof.measure.worker.canaries import canary_times
from ckprof.measure.worker.messages import DeviceChoice
from ckprof_plugins.cuda.devices import devices
from ckprof_plugins.cuda.recipe import canary_source


@pytest.mark.cuda
def test_the_canaries_compile(tmp_path):
    for capability in (80, 90, 120):
        source, path = canary_source(capability), tmp_path / f"{capability}.so"
        command = [*source.compiler, str(source.files[0]), "-o", str(path), *source.flags]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (capability, done.stderr)
        if not devices():
            # it loads without a driver
            with pytest.raises(OSError, match="the arithmetic canary cannot be timed"):
                canary_times(str(path), DeviceChoice())
