"""Keys name the device that computes, whatever architecture its kernels were made for."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ckprof.model.device import DeviceIdentity
from ckprof.model.recipe import BuildRecipe, Compiler, CompilerFamily
from ckprof.run.opened_device import OpenedDevice
from ckprof.run.options import RunOptions
from ckprof.sweep.identity import shared_key

GPU = SimpleNamespace(embedded=False)
HOST = SimpleNamespace(embedded=True)
SEEN = DeviceIdentity(
    model="Fast GPU, compute capability 9.0",
    driver="580",
    partition="half",
    memory_bytes=141 * 2**30,
    compute_units=132,
    clock="event",
)


@pytest.fixture
def recipe():
    compiler = Compiler(
        command=("c++",), family=CompilerFamily.GCC, version=(1, 0, 0), description="c++ 1", identity="c1"
    )
    return BuildRecipe(
        target="fast",
        arch="gfx942",
        api_level="2026-06",
        compiler=compiler,
        compile_flags=(),
        link_flags=(),
        include_dirs=(),
        prefix_header="",
        support_sources=(),
        machine_identity="sm_90a",
    )


def key(target, recipe, device):
    return shared_key("fwd", target, recipe, RunOptions(), device)


def test_a_device_is_what_it_says_of_itself(recipe):
    found = key(GPU, recipe, OpenedDevice(text="a line for people", identity=SEEN))
    device = found.device
    assert (device.target, device.model, device.arch) == (
        "fast",
        "Fast GPU, compute capability 9.0",
        "gfx942",
    )
    assert (device.compute_units, device.memory_bytes, device.partition) == (132, 141 * 2**30, "half")
    assert found.toolchain.driver == "580"
    assert found.method.clock == "event"


def test_a_device_that_says_nothing_is_its_line(recipe):
    found = key(GPU, recipe, OpenedDevice(text="Slow GPU"))
    assert (found.device.model, found.device.compute_units) == ("Slow GPU", 0)
    assert (found.toolchain.driver, found.method.clock) == ("", "wall")


def test_two_devices_have_keys_of_their_own(recipe):
    other = OpenedDevice(text="a line for people", identity=DeviceIdentity(model="Fast GPU 2"))
    seen = OpenedDevice(text="a line for people", identity=SEEN)
    assert key(GPU, recipe, seen).device != key(GPU, recipe, other).device


def test_a_target_comes_first_and_the_runtime_fills_what_it_does_not_say(recipe):
    class Known:
        embedded = False

        def device_identity(self, arch, device):
            assert (arch, device) == ("gfx942", 0)
            return DeviceIdentity(model="Fast GPU", partition="quarter", clock="event")

    device = key(Known(), recipe, OpenedDevice(text="a line", identity=SEEN)).device
    assert (device.model, device.partition) == ("Fast GPU", "quarter")
    assert (device.compute_units, device.memory_bytes) == (132, 141 * 2**30)


def test_the_host_is_known_without_a_worker(recipe):
    device = key(HOST, recipe, OpenedDevice()).device
    assert device.model and device.compute_units >= 1 and device.partition == "sm_90a"
