"""What measurements on a GPU are filed under, what it reaches by its record, and canaries: without a GPU."""

import math
import subprocess
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from ckprof.errors import ToolchainError
from ckprof.kernels.keys import digest_file
from ckprof.measure.canary import find_canary
from ckprof.measure.options import RunOptions
from ckprof.measure.worker.canaries import canary_times
from ckprof.measure.worker.messages import DeviceChoice
from ckprof.model.device import CANARIES, DeviceIdentity
from ckprof.model.types import DataType
from ckprof.plugin.manager import PluginManager
from ckprof.plugin.members import offers
from ckprof.plugin.protocols import Target
from ckprof.plugin.registry import Registry
from ckprof_plugins.targets.cpu.target import CpuTarget
from ckprof_plugins.targets.hip import devices as hip
from ckprof_plugins.targets.hip.recipe import canary_source as hip_source

if TYPE_CHECKING:
    from ckprof.session import Session


def test_registered_targets_keep_both_abilities():
    manager = PluginManager()
    manager.load_all()
    targets = Registry(manager).targets
    for ability in (Target.device_identity, Target.theoretical_ceilings):
        assert {one.id for one in targets if offers(one, ability)} >= {"hip"}


def test_the_ceilings_of_an_architecture():
    ceilings = {one.dtype: one for one in hip.theoretical_ceilings("gfx942")}
    assert ceilings[DataType.FP16].gflops == pytest.approx(1_307_400, rel=0.01)
    assert ceilings[DataType.FP32].gflops == pytest.approx(163_400, rel=0.01)
    assert ceilings[DataType.BF16].gbytes_per_s == pytest.approx(5300, rel=0.01)


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


def compiled(source, path, *flags):
    """Return the object of a source, compiled with further flags."""
    command = (*source.compiler, str(source.files[0]), "-o", str(path), *source.flags, *flags)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return path


@pytest.mark.thorough
@pytest.mark.compiler
def test_times_scale_with_the_work_and_fit_into_a_round(tmp_path):
    """Four times the work takes about four times as long; on a busy machine, longer in any case."""
    source = CpuTarget().canary("")
    alone = DeviceChoice(cpu_threads=1)
    paths = [
        str(compiled(source, tmp_path / f"{work}.so", f"-DCKPROF_CANARY_WORK={work}")) for work in (1, 4)
    ]
    least = {name: [math.inf, math.inf] for name in CANARIES}
    # other processes make times longer, never shorter: sooner or later both have a moment without them
    for _ in range(100):
        for place, path in enumerate(paths):
            for name, ms in canary_times(path, alone).items():
                least[name][place] = min(ms, least[name][place])
        ratios = {name: second / first for name, (first, second) in least.items()}
        if all(1.5 < ratio < 8 for ratio in ratios.values()):
            return
    pytest.fail(f"{ratios}, expected about 4")


@pytest.mark.thorough
@pytest.mark.compiler
def test_the_object_is_the_same_for_kernels_of_two_compilers(tmp_path, monkeypatch):
    def digest(folder, compiler):
        """Return the digest of the object that is built where nothing is cached."""
        monkeypatch.setenv("CXX", compiler)
        monkeypatch.setenv("CKPROF_CACHE_DIR", str(tmp_path / folder))
        registry = SimpleNamespace(targets=SimpleNamespace(find=lambda name: CpuTarget()))
        session = SimpleNamespace(registry=registry, emit=lambda message: pytest.fail(message.text))
        canary = find_canary(cast("Session", session), "cpu", "gfx942", RunOptions())
        assert canary is not None
        return digest_file(canary)

    first = CpuTarget().canary("").compiler[0]
    other = tmp_path / "another-g++"
    other.write_text(f'#!/bin/sh\nexec {first} "$@" -DOTHER -fno-tree-vectorize\n')
    other.chmod(0o755)
    assert digest("a", "") == digest("b", str(other))


@pytest.mark.amd
def test_the_canaries_of_amd_gpus_compile(tmp_path):
    missing, archs = [], ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")
    for arch in archs:
        try:
            source = hip_source(arch)
        except ToolchainError as exc:
            missing.append(str(exc).splitlines()[0])
            continue
        compiled(source, tmp_path / f"{arch}.so")
    if len(missing) == len(archs):
        pytest.skip(missing[0])
