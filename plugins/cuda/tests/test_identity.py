"""What measurements on an NVIDIA GPU are filed under, what its data sheet says, and its canaries."""

import subprocess

import pytest

from ckprof.measure.worker.canaries import canary_times
from ckprof.measure.worker.messages import DeviceChoice
from ckprof.model.device import DeviceIdentity
from ckprof.model.roofline import CeilingKind
from ckprof.model.types import DataType
from ckprof.plugin.members import offers
from ckprof.plugin.protocols import Target
from ckprof_plugins.cuda import devices as cuda
from ckprof_plugins.cuda.devices import CudaDevice, devices
from ckprof_plugins.cuda.recipe import canary_source
from ckprof_plugins.cuda.target import CudaTarget

H200 = CudaDevice(index=0, name="NVIDIA H200", capability=90, memory_mib=143771, driver="580.95.05")
PART = CudaDevice(
    index=1,
    name="NVIDIA A100-SXM4-80GB",
    capability=80,
    memory_mib=20096,
    driver="580.95.05",
    partition="MIG",
)


@pytest.fixture
def nvidia(monkeypatch):
    monkeypatch.setattr(cuda, "devices", lambda: (H200, PART))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return monkeypatch


def test_the_target_has_both_abilities():
    assert offers(CudaTarget(), Target.device_identity)
    assert offers(CudaTarget(), Target.theoretical_ceilings)


def test_an_nvidia_gpu(nvidia):
    assert cuda.device_identity(0) == DeviceIdentity(
        model="NVIDIA H200", compute_units=132, memory_bytes=143771 * 2**20, driver="580", clock="event"
    )
    # a part of a device has neither its units nor its rates
    part = cuda.device_identity(1)
    assert part is not None and (part.partition, part.compute_units) == ("MIG", 0)
    assert cuda.theoretical_ceilings(1) == ()
    assert cuda.device_identity(2) is None
    assert cuda.device_identity(-1) is None


def test_variables_reorder_nvidia_gpus(nvidia):
    nvidia.setenv("CUDA_VISIBLE_DEVICES", "1,0")
    found = cuda.device_identity(1)
    assert found is not None and found.model == "NVIDIA H200"
    nvidia.setenv("CUDA_VISIBLE_DEVICES", "GPU-8a3b")
    assert cuda.device_identity(0) is None


def test_the_ceilings_of_a_data_sheet(nvidia):
    ceilings = {one.dtype: one for one in cuda.theoretical_ceilings(0)}
    assert set(ceilings) == {DataType.FP32, DataType.FP16, DataType.BF16}
    # 4 tensor cores per multiprocessor, 512 multiply-adds each and cycle, at 1830 MHz
    assert ceilings[DataType.FP16].gflops == pytest.approx(132 * 4 * 512 * 2 * 1.83, rel=0.01)
    assert ceilings[DataType.FP32].gflops == pytest.approx(132 * 128 * 2 * 1.98, rel=0.01)
    assert {(one.kind, one.gbytes_per_s) for one in ceilings.values()} == {(CeilingKind.THEORETICAL, 4800.0)}


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
