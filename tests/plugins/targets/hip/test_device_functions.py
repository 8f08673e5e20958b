"""What verifies results on AMD GPUs is the source that is tested as plain C++, with HIP's names."""

import ctypes
import subprocess
from pathlib import Path

import ckprof_plugins.targets.hip
from ckprof.measure.worker.device_checks import DeviceChecks

SOURCE = Path(ckprof_plugins.targets.hip.__file__).parent / "src" / "checks.cpp"


def test_checks_are_exported_and_work_with_the_runtime(build, amdhip, tmp_path):
    library = tmp_path / "libchecks.so"
    linked = [f"-L{amdhip.parent}", f"-Wl,-rpath,{amdhip.parent}", "-lamdhip64", "-o", str(library)]
    subprocess.run([*build, str(SOURCE), "-Wl,-z,defs", *linked], check=True, timeout=120)
    assert DeviceChecks.of(ctypes.CDLL(str(library))) is not None
