"""Tensors that no memory of the machine holds: a few workgroups, on the pages that they touch."""

from pathlib import Path

import pytest

from ckprof import Problem
from ckprof.errors import ToolchainError
from ckprof.measure.worker.abi import Library
from ckprof_plugins.emulator.sampling import Sampler
from plugins.emulator.tests.e2e.conftest import PROBLEM, TARGET

pytestmark = [pytest.mark.amd, pytest.mark.usefixtures("amd_toolchain"), pytest.mark.timeout(1500)]

#: fp16 images of 2^24 elements
IMAGES = "convfp16 -n {} -c 64 -H 512 -W 512 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1"


def test_problems_larger_than_memory(ckprof, catalog):
    built = ckprof("build", "fwd", "--conf", catalog, *TARGET, "--device", "emulated", timeout=1200).ok()
    library = Path(built.out.strip())
    (key,) = Library.load(library).kernels
    with Sampler(library, "gfx942") as sampler:
        whole = sampler.run(key, Problem.parse(PROBLEM), workgroups=100)
        assert whole.is_right and whole.compared == 840
        large = sampler.run(key, Problem.parse(IMAGES.format(98)))
        assert large.is_right and large.workgroups == 12 and large.compared > 10_000
        assert large.resident_bytes < 200e6
        # 2^31 elements: with 32 bits they are none at all, which the kernel says that it supports
        wrapped = sampler.run(key, Problem.parse(IMAGES.format(128)))
        assert len(wrapped.silent) == 12 and not wrapped.is_right
        other = sampler.run(key, Problem.parse(PROBLEM), split_k=2)
        assert other.unsupported and "a forward kernel does not split" in other.reason
    # what is drawn into memory counts as written
    with Sampler(library, "gfx942", {"CKPROF_EMULATED_CHECKS": "all"}) as sampler:
        assert sampler.run(key, Problem.parse(PROBLEM)).is_right
    with pytest.raises(ToolchainError, match="its kernels cannot be sampled"):
        Sampler(Path(__file__), "gfx942")
