"""What measurements on a GPU are filed under, and what the GPU reaches by its record: without a GPU."""

import pytest

from ckprof.model.device import DeviceIdentity
from ckprof.model.types import DataType
from ckprof.plugin.manager import PluginManager
from ckprof.plugin.members import offers
from ckprof.plugin.protocols import Target
from ckprof.plugin.registry import Registry
from ckprof_plugins.targets.hip import devices as hip


def test_registered_targets_keep_both_abilities():
    manager = PluginManager()
    manager.load_all()
    targets = Registry(manager).targets
    for ability in (Target.device_identity, Target.theoretical_roofs):
        assert {one.id for one in targets if offers(one, ability)} >= {"hip"}


def test_the_roofs_of_an_architecture():
    roofs = {one.dtype: one for one in hip.theoretical_roofs("gfx942")}
    assert roofs[DataType.FP16].gflops == pytest.approx(1_307_400, rel=0.01)
    assert roofs[DataType.FP32].gflops == pytest.approx(163_400, rel=0.01)
    assert roofs[DataType.BF16].gbytes_per_s == pytest.approx(5300, rel=0.01)


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_an_amd_gpu(tmp_path, monkeypatch):
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
    found = hip.devices(tmp_path / "nodes", tmp_path / "drm")
    monkeypatch.setattr(hip, "devices", lambda: found)
    assert hip.device_identity(0, tmp_path / "version") == DeviceIdentity(
        compute_units=304, memory_bytes=192 * 2**30, partition="SPX", driver="6", clock="event"
    )
    unversioned = hip.device_identity(0, tmp_path / "missing")
    assert unversioned is not None and unversioned.driver == ""
    assert hip.device_identity(1) is None
