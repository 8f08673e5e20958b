"""The canaries of the targets: what they do, and that their object is that of the machine, not of kernels."""

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
from ckprof.model.device import CANARIES
from ckprof_plugins.targets.cpu.target import CpuTarget
from ckprof_plugins.targets.hip.recipe import canary_source as hip_source

if TYPE_CHECKING:
    from ckprof.session import Session


def compiled(source, path, *flags):
    """Return the object of a source, compiled with further flags."""
    command = (*source.compiler, str(source.files[0]), "-o", str(path), *source.flags, *flags)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return path


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


@pytest.mark.compiler
def test_the_object_is_the_same_for_kernels_of_two_compilers(tmp_path, monkeypatch):
    def digest(folder, compiler):
        """Return the digest of the object that is built where nothing is cached."""
        monkeypatch.setenv("CXX", compiler)
        monkeypatch.setenv("CKPROF_CACHE_DIR", str(tmp_path / folder))
        registry = SimpleNamespace(targets=SimpleNamespace(find=lambda name: CpuTarget()))
        session = SimpleNamespace(registry=registry, tell=lambda message: pytest.fail(message.text))
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
