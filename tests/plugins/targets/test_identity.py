"""What measurements on a GPU are filed under, and what the GPU reaches by its record: without a GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckprof.model.device import DeviceIdentity
from ckprof.model.roof import RoofKind
from ckprof.model.types import DataType
from ckprof.plugin.manager import PluginManager
from ckprof.plugin.protocols import DeviceIdentifier, RoofTarget
from ckprof.plugin.registry import Registry
from ckprof_plugins.targets.cuda import identity as cuda
from ckprof_plugins.targets.cuda.devices import Device
from ckprof_plugins.targets.hip import devices as hip_devices
from ckprof_plugins.targets.hip import identity as hip

H200 = Device(index=0, name="NVIDIA H200", capability=90, memory_mib=143771, driver="580.95.05")
PART = Device(
    index=1,
    name="NVIDIA A100-SXM4-80GB",
    capability=80,
    memory_mib=20096,
    driver="580.95.05",
    partition="MIG",
)


@pytest.fixture
def nvidia(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(cuda, "devices", lambda: (H200, PART))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return monkeypatch


def test_registered_targets_keep_both_abilities() -> None:
    manager = PluginManager()
    manager.load_all()
    targets = Registry(manager).targets
    for ability in (DeviceIdentifier, RoofTarget):
        assert {one.id for one in targets if isinstance(one, ability)} == {"cuda", "hip"}


def test_an_nvidia_gpu(nvidia: pytest.MonkeyPatch) -> None:
    assert cuda.device_identity(0) == DeviceIdentity(
        model="NVIDIA H200",
        compute_units=132,
        memory_bytes=143771 * 2**20,
        driver="580",
        clock="event",
    )
    # a part of a device has neither its units nor its rates
    part = cuda.device_identity(1)
    assert part is not None and (part.partition, part.compute_units) == ("MIG", 0)
    assert cuda.theoretical_roofs(1) == ()
    assert cuda.device_identity(2) is None
    assert cuda.device_identity(-1) is None


def test_variables_reorder_nvidia_gpus(nvidia: pytest.MonkeyPatch) -> None:
    nvidia.setenv("CUDA_VISIBLE_DEVICES", "1,0")
    found = cuda.device_identity(1)
    assert found is not None and found.model == "NVIDIA H200"
    nvidia.setenv("CUDA_VISIBLE_DEVICES", "GPU-8a3b")
    assert cuda.device_identity(0) is None


def test_the_roofs_of_a_data_sheet(nvidia: pytest.MonkeyPatch) -> None:
    roofs = {one.dtype: one for one in cuda.theoretical_roofs(0)}
    assert set(roofs) == {DataType.FP32, DataType.FP16, DataType.BF16}
    # 4 tensor cores per multiprocessor, 512 multiply-adds each and cycle, at 1830 MHz
    assert roofs[DataType.FP16].gflops == pytest.approx(132 * 4 * 512 * 2 * 1.83, rel=0.01)
    assert roofs[DataType.FP32].gflops == pytest.approx(132 * 128 * 2 * 1.98, rel=0.01)
    assert {(one.kind, one.gbytes_per_s) for one in roofs.values()} == {(RoofKind.THEORETICAL, 4800.0)}


def test_the_roofs_of_an_architecture() -> None:
    roofs = {one.dtype: one for one in hip.theoretical_roofs("gfx942")}
    assert roofs[DataType.FP16].gflops == pytest.approx(1_307_400, rel=0.01)
    assert roofs[DataType.FP32].gflops == pytest.approx(163_400, rel=0.01)
    assert roofs[DataType.BF16].gbytes_per_s == pytest.approx(5300, rel=0.01)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_an_amd_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    node = tmp_path / "nodes" / "1"
    write(
        node / "properties",
        "simd_count 1216\nsimd_per_cu 4\ngfx_target_version 90402\ndrm_render_minor 128\n",
    )
    write(node / "mem_banks" / "0" / "properties", f"heap_type 1\nsize_in_bytes {192 * 2**30}\n")
    write(tmp_path / "drm" / "renderD128" / "device" / "current_compute_partition", "SPX\n")
    write(tmp_path / "version", "6.12.12\n")
    found = hip_devices.devices(tmp_path / "nodes", tmp_path / "drm")
    monkeypatch.setattr(hip, "devices", lambda: found)
    assert hip.device_identity(0, tmp_path / "version") == DeviceIdentity(
        compute_units=304, memory_bytes=192 * 2**30, partition="SPX", driver="6", clock="event"
    )
    unversioned = hip.device_identity(0, tmp_path / "missing")
    assert unversioned is not None and unversioned.driver == ""
    assert hip.device_identity(1) is None
