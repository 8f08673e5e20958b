from __future__ import annotations

import pytest

from ckprof.measure.prepare import prepare_problem
from ckprof.model.device import DeviceIdentity
from ckprof.model.requirement import UnmetRequirement
from ckprof.model.types import DataType
from ckprof_plugins.directions._convolution.layout import find_layout
from ckprof_plugins.directions.fwd import Forward

from ..device_checks import ON_DEVICE, SCALE, CheckedWorker
from ..local_worker import HostTarget


@pytest.mark.parametrize(
    ("memory_bytes", "available", "rule"),
    [
        (0, None, "memory"),
        (2**30, None, "device-memory"),
        # nobody else holds much of it; others do; it is too small for the problem
        (2**30, 0.95 * 2**30, "device-memory"),
        (2**30, 2**20, "memory-in-use"),
        (2**10, 0, "device-memory"),
    ],
)
def test_memory_of_the_device_is_told_apart(checks, tmp_path, monkeypatch, memory_bytes, available, rule):
    worker = CheckedWorker(checks)

    def allocate(self, size_bytes):
        raise MemoryError("none left")

    identity = DeviceIdentity(model="one", memory_bytes=memory_bytes)
    monkeypatch.setattr(HostTarget, "allocate", allocate)
    monkeypatch.setattr(HostTarget, "identify_device", lambda self: identity)
    monkeypatch.setattr(HostTarget, "available_bytes", lambda self: available)
    prepared = prepare_problem(
        Forward(),
        SCALE,
        find_layout("nhwgc"),
        DataType.FP32,
        ON_DEVICE,
        tmp_path,
        can_check=True,
    )
    lacking = worker.remote.load(1.0, prepared.request)
    assert lacking == UnmetRequirement(rule=rule, message="none left")
