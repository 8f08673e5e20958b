"""Keys name the device that computes, whatever architecture its kernels were made for."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from ckprof.kernels.keys import FolderDigests, Keys
from ckprof.measure.options import RunOptions
from ckprof.measure.verify.operands import InitKind
from ckprof.model.device import DeviceIdentity
from ckprof.plugin.manager import PluginManager
from ckprof.sweep.identity import shared_key, source_digests
from tests.measure.run_instances import made_recipe


def unidentified(arch, device):
    return None


GPU = SimpleNamespace(embedded=False, device_identity=unidentified)
HOST = SimpleNamespace(embedded=True, device_identity=unidentified)
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
    return made_recipe("fast", "gfx942", "sm_90a")


def key(target, recipe, device):
    return shared_key("fwd", target, recipe, RunOptions(), device)


def test_a_device_is_what_it_says_of_itself(recipe):
    found = key(GPU, recipe, SEEN)
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
    found = key(GPU, recipe, DeviceIdentity(model="Slow GPU"))
    assert (found.device.model, found.device.compute_units) == ("Slow GPU", 0)
    assert (found.toolchain.driver, found.method.clock) == ("", "wall")


def test_all_flags_are_in_the_key(recipe, monkeypatch):
    for name in ("CPATH", "CXXFLAGS", "NVCC_APPEND_FLAGS"):
        monkeypatch.delenv(name, raising=False)
    compiler = replace(recipe.compiler, command=("c++", "-fno-x"), added_words=("-fno-x",))
    changed = replace(
        recipe, compiler=compiler, compile_flags=("-O2",), kernel_flags=("-g",), variables=("OWN_FLAGS",)
    )
    plain = key(HOST, changed, DeviceIdentity()).toolchain
    assert plain.flags == ("-fno-x", "-O2", "-g")
    monkeypatch.setenv("CPATH", "/elsewhere")
    monkeypatch.setenv("OWN_FLAGS", "-O1")
    monkeypatch.setenv("CXXFLAGS", "-O0")
    monkeypatch.setenv("NVCC_APPEND_FLAGS", "-O0")
    seen = key(HOST, changed, DeviceIdentity()).toolchain
    assert seen.flags == (*plain.flags, "CPATH=/elsewhere", "OWN_FLAGS=-O1"), (
        "what no compiler reads is not a flag"
    )


def test_objects_of_another_environment_are_not_taken(recipe, monkeypatch):
    monkeypatch.delenv("CPATH", raising=False)
    plain = Keys(recipe, FolderDigests(None)).prefix()
    monkeypatch.setenv("CPATH", "/elsewhere")
    assert Keys(recipe, FolderDigests(None)).prefix() != plain


@pytest.mark.parametrize(
    ("asked", "cpus", "units", "threads"),
    [(0, 4, 4, 0), (2, 4, 2, 0), (4, 4, 4, 0), (2, 1, 1, 2), (0, 1, 1, 0), (8, 2, 2, 8)],
)
def test_cpus_are_those_that_there_are(recipe, monkeypatch, asked, cpus, units, threads):
    monkeypatch.setattr("ckprof.sweep.identity.available_cpus", lambda: cpus)
    device = shared_key("fwd", HOST, recipe, RunOptions(cpu_threads=asked), DeviceIdentity()).device
    assert (device.compute_units, device.threads) == (units, threads)


def test_the_seed_is_part_of_the_method_where_it_decides_the_operands(recipe):
    def method(**options):
        return shared_key("fwd", HOST, recipe, RunOptions(**options), DeviceIdentity()).method

    assert method() == method(seed=0) != method(seed=1)
    assert method(seed=1, init=InitKind.ZEROS) == method(init=InitKind.ZEROS)


def test_digests_name_the_files_of_plugins(tmp_path):
    plugin = tmp_path / "mine.py"
    plugin.write_text("ID = 1\n")
    manager = PluginManager()
    manager.load_all(requested=[str(plugin)])
    first = source_digests(manager)
    assert [*first] == ["ckprof", str(plugin)] and all(first.values())
    plugin.write_text("ID = 2\n")
    second = source_digests(manager)
    assert first["ckprof"] == second["ckprof"] and first[str(plugin)] != second[str(plugin)]


def test_two_devices_have_keys_of_their_own(recipe):
    other = DeviceIdentity(model="Fast GPU 2")
    seen = SEEN
    assert key(GPU, recipe, seen).device != key(GPU, recipe, other).device


def test_a_target_comes_first_and_the_runtime_fills_what_it_does_not_say(recipe):
    class Known:
        embedded = False

        def device_identity(self, arch, device):
            assert (arch, device) == ("gfx942", 0)
            return DeviceIdentity(model="Fast GPU", partition="quarter", clock="event")

    device = key(Known(), recipe, SEEN).device
    assert (device.model, device.partition) == ("Fast GPU", "quarter")
    assert (device.compute_units, device.memory_bytes) == (132, 141 * 2**30)


def test_the_host_is_known_without_a_worker(recipe):
    device = key(HOST, recipe, DeviceIdentity()).device
    assert device.model and device.compute_units >= 1 and device.partition == "sm_90a"
