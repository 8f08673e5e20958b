"""The CPU target: recipe, findings, and its C interface through a library without kernels."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from ckprof.errors import ToolchainError, UsageError
from ckprof.kernels.builder import build_tree
from ckprof.kernels.c_interface import library_source
from ckprof.kernels.cache import ObjectCache
from ckprof.kernels.compile_step import MESSAGES_FILE
from ckprof.kernels.keys import FolderDigests, Keys, abi_version
from ckprof.kernels.toolchain import find_compiler
from ckprof.measure.worker.abi import AbiStatus
from ckprof.model.architecture import architectures
from ckprof.model.device import FindingState
from ckprof.model.recipe import BuildRequest, Compiler, CompilerFamily, Purpose
from ckprof.paths import object_cache_dir
from ckprof.testing.plugins import registry_with
from ckprof_plugins.targets.cpu import machine
from ckprof_plugins.targets.cpu import recipe as cpu_recipe
from ckprof_plugins.targets.cpu.recipe import device_table_source
from ckprof_plugins.targets.cpu.target import SOURCE_DIR, CpuTarget


@pytest.fixture(scope="module")
def compiler():
    try:
        return find_compiler()
    except ToolchainError as exc:
        pytest.skip(str(exc))


def test_is_announced():
    target = registry_with().targets.find("cpu")
    assert (target.embedded, target.default_arch) == (True, "gfx950")


def test_models_every_architecture_with_the_numbers_of_its_record():
    rows = re.findall(
        r'\{"(\w+)", (\d+), (\d+), (\d+), (\d+), "([a-z0-9_ ]*)"\}', device_table_source().read_text()
    )
    assert [row[0] for row in rows] == list(architectures())
    assert (
        "gfx950",
        "256",
        "64",
        "163840",
        "32",
        "direct_lds int8_mfma stream_k transposed_lds_reads ",
    ) in rows
    assert ("gfx1201", "64", "32", "65536", "32", "") in rows


def test_unknown_devices_and_missing_headers_are_rejected(monkeypatch, tmp_path):
    with pytest.raises(UsageError, match=r"unknown architecture 'sm_90' \(known: gfx908, gfx90a"):
        CpuTarget().recipe(BuildRequest(arch="sm_90"))
    monkeypatch.setattr(cpu_recipe, "INCLUDE_DIR", tmp_path)
    with pytest.raises(ToolchainError, match="headers are missing; reinstall ckprof"):
        CpuTarget().recipe(BuildRequest(arch="gfx950"))


@pytest.mark.compiler
def test_recipe(compiler):
    recipe = CpuTarget().recipe(BuildRequest(arch="gfx942:sramecc+"))
    assert (recipe.target, recipe.arch, recipe.api_level) == ("cpu", "gfx942:sramecc+", "2026-06")
    assert recipe.compiler == compiler
    assert "-march=native" in recipe.compile_flags and "-std=c++20" in recipe.compile_flags
    assert recipe.kernel_flags == ("-DCK_TILE_USE_OCP_FP8=0", "-O1")
    assert {path.name for path in recipe.support_sources} >= {"target.cpp", "host_model_blocks.cpp"}
    assert all(path.is_dir() for path in recipe.include_dirs)
    assert recipe.machine_identity == machine.machine_identity(compiler)
    for header in re.findall(r'#include "(.*)"', recipe.prefix_header):
        assert any((folder / header).is_file() for folder in recipe.include_dirs), header


@pytest.mark.compiler
@pytest.mark.parametrize("purpose", [Purpose.RUN, Purpose.SUPPORT_CHECK])
def test_an_architecture_changes_how_kernels_are_compiled_alone(purpose):
    """What they are linked with takes long to compile: it is the same for all."""
    recipes = {name: CpuTarget().recipe(BuildRequest(arch=name, purpose=purpose)) for name in architectures()}
    assert len({recipe.compile_flags for recipe in recipes.values()}) == 1
    macros = {
        name: {flag for flag in recipe.kernel_flags if flag.startswith("-DCK_")}
        for name, recipe in recipes.items()
    }
    assert macros["gfx942"] == {"-DCK_TILE_USE_OCP_FP8=0"}
    assert macros["gfx1201"] == {"-DCK_TILE_USE_OCP_FP8=1"}
    assert macros["gfx950"] == {"-DCK_GFX950_SUPPORT", "-DCK_TILE_USE_OCP_FP8=1"}


@pytest.mark.compiler
@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(path.name for path in SOURCE_DIR.glob("*.cpp")))
def test_what_kernels_are_linked_with_is_the_same_with_macros_of_architectures(name):
    """Headers define types and defaults by them, which none of these sources uses."""
    recipe = CpuTarget().recipe(BuildRequest(arch="gfx950"))
    includes = [f"-I{folder}" for folder in recipe.include_dirs]
    texts = []
    for arch in ("gfx950", "gfx942"):
        flags = CpuTarget().recipe(BuildRequest(arch=arch)).kernel_flags
        command = [*recipe.compiler.command, *recipe.compile_flags, *flags, "-O0", "-S", "-frandom-seed=1"]
        done = subprocess.run(
            [*command, *includes, str(SOURCE_DIR / name), "-o", "-"],
            capture_output=True,
            text=True,
            check=True,
        )
        texts.append(done.stdout)
    assert texts[0] == texts[1]


@pytest.mark.compiler
def test_answers_do_without_what_kernels_compute():
    """That source takes longer to compile than everything else together."""
    request = BuildRequest(arch="gfx942", purpose=Purpose.SUPPORT_CHECK)
    names = {path.name for path in CpuTarget().recipe(request).support_sources}
    assert "host_model_blocks.cpp" not in names
    assert names >= {"target.cpp", "host_model_support.cpp", "device_table.cpp"}


def test_a_cache_that_cannot_be_written_is_said_with_what_moves_it(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("CKPROF_CACHE_DIR", str(tmp_path / "file"))
    with pytest.raises(ToolchainError, match="set CKPROF_CACHE_DIR to a folder"):
        device_table_source()


@pytest.mark.compiler
def test_extra_flags_have_the_last_word(compiler):
    recipe = CpuTarget().recipe(BuildRequest(arch="gfx950", extra_flags=("-fsanitize=address",)))
    assert recipe.compile_flags[-1] == recipe.link_flags[-1] == "-fsanitize=address"
    assert recipe.kernel_flags[-1] == "-O1"
    macros = ("-DCK_GFX950_SUPPORT", "-DCK_TILE_USE_OCP_FP8=1")
    assert CpuTarget().recipe(BuildRequest(arch="gfx950", extra_flags=("-O0",))).kernel_flags == macros
    for own in (("-DCK_TILE_USE_OCP_FP8=0",), ("-D", "CK_TILE_USE_OCP_FP8=0"), ("-UCK_TILE_USE_OCP_FP8",)):
        changed = CpuTarget().recipe(BuildRequest(arch="gfx950", extra_flags=own))
        assert changed.compile_flags[-len(own) :] == own
        assert changed.kernel_flags == (macros[0], "-O1")


@pytest.mark.parametrize("family", list(CompilerFamily))
def test_machine_identity_falls_back_on_the_features_of_the_cpu(family, monkeypatch):
    silent = Compiler(
        command=("/no/such/compiler", family.value),
        family=family,
        version=(1, 0, 0),
        description="",
        identity="",
    )
    monkeypatch.setattr(machine, "cpu_flags", lambda: frozenset({"avx"}))
    first = machine.machine_identity(silent)
    monkeypatch.setattr(machine, "cpu_flags", lambda: frozenset({"avx", "fma"}))
    assert machine.machine_identity(silent) != first


@pytest.mark.compiler
def test_the_compiler_tells_what_native_means(compiler):
    told = machine._native_settings(compiler.command, compiler.family)
    assert len(told) > 50


def test_vector_sets():
    assert machine.vector_set(frozenset({"avx", "avx2", "fma", "f16c"})) == "AVX2 with fp16 conversion, FMA"
    assert machine.vector_set(frozenset({"asimd"})) == "NEON"
    assert machine.vector_set(frozenset()) == ""


@pytest.mark.parametrize(
    ("flags", "most", "expected"),
    [
        ({"amx_tile", "amx_bf16", "avx512_bf16"}, "", "in tiles (AMX)"),
        ({"amx_tile", "amx_bf16", "avx512_bf16"}, "pairs", "in pairs (AVX512-BF16)"),
        ({"amx_tile", "avx512_bf16"}, "", "in pairs (AVX512-BF16)"),
        ({"amx_tile", "amx_bf16", "avx512_bf16"}, "fp32", "as fp32"),
        ({"avx512f"}, "tiles", "as fp32"),
    ],
)
def test_what_multiplies_bf16(flags, most, expected):
    assert machine.bf16_unit(frozenset(flags), most).startswith(expected)


def test_a_unit_that_there_is_not_is_refused(monkeypatch):
    monkeypatch.setenv("CKPROF_CPU_BF16", "pears")
    told = "CKPROF_CPU_BF16 is 'pears', expected one of tiles, pairs, fp32"
    with pytest.raises(UsageError, match=told):
        CpuTarget().recipe(BuildRequest(arch="gfx942"))
    found = {finding.topic: finding for finding in CpuTarget().findings()}["products of bf16"]
    assert (found.state, found.detail, found.advice) == (FindingState.BROKEN, told, "unset CKPROF_CPU_BF16")


@pytest.mark.compiler
def test_findings_of_a_machine_that_has_everything(compiler):
    found = {finding.topic: finding for finding in CpuTarget().findings()}
    for topic in ("C++ compiler", "host model", "ninja", "CPU", "products of bf16", "memory", "object cache"):
        assert topic in found, topic
    assert found["host model"].state is found["ninja"].state is FindingState.OK
    assert all(finding.advice for finding in found.values() if finding.state is FindingState.MISSING)


def test_findings_of_a_machine_that_has_nothing(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr("ckprof.kernels.toolchain.ziglang_executable", lambda: None)
    monkeypatch.setattr(machine, "ziglang_executable", lambda: None)

    def broken():
        raise ToolchainError("ninja is missing")

    monkeypatch.setattr(machine, "ninja_command", broken)

    def unreadable():
        raise OSError("no /proc")

    monkeypatch.setattr(machine, "host_properties", unreadable)
    found = {finding.topic: finding for finding in machine.findings(tmp_path / "none")}
    assert found["C++ compiler"].advice == "apt-get install g++"
    assert found["C++ compiler without administrator rights"].advice == "pip install 'ckprof[zig]'"
    assert found["host model"].state is FindingState.MISSING
    assert found["ninja"].state is FindingState.MISSING
    assert found["CPU"].state is FindingState.BROKEN and "no /proc" in found["CPU"].detail
    assert all(f.advice for f in found.values() if f.state is FindingState.MISSING)


_POINTER, _SIZE, _STATUS = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
_SELECT = ctypes.CFUNCTYPE(_STATUS, ctypes.c_char_p, ctypes.c_int32, ctypes.c_char_p, _SIZE)


class Table(ctypes.Structure):
    """``ckprof_target`` as Python sees it."""

    _fields_ = (
        ("id", ctypes.c_char_p),
        ("select_device", _SELECT),
        ("set_cpu_threads", ctypes.CFUNCTYPE(None, ctypes.c_int32)),
        ("describe_device", ctypes.CFUNCTYPE(None, ctypes.c_char_p, _SIZE)),
        ("allocate", ctypes.CFUNCTYPE(_POINTER, _SIZE)),
        ("release", ctypes.CFUNCTYPE(None, _POINTER)),
        ("copy_to_device", ctypes.CFUNCTYPE(_STATUS, _POINTER, _POINTER, _SIZE)),
        ("copy_to_host", ctypes.CFUNCTYPE(_STATUS, _POINTER, _POINTER, _SIZE)),
        ("flush_cache", ctypes.CFUNCTYPE(_STATUS, _SIZE)),
    )


class Library(ctypes.Structure):
    """``ckprof_library`` as Python sees it."""

    _fields_ = (
        ("abi_version", ctypes.c_uint32),
        ("kernel_count", ctypes.c_uint32),
        ("kernels", _POINTER),
        ("target", ctypes.POINTER(Table)),
    )


@dataclass(frozen=True)
class OneKernel:
    """A source tree whose kernel is a row without functions."""

    root: Path
    library_name: str = "one"
    name: str = "nothing"
    symbol: str = "row"
    key: str = "00"

    @property
    def kernels(self):
        return [self]

    shared_sources: ClassVar[tuple[Path, ...]] = ()

    def write_library_source(self, symbols):
        path = self.root / "library.cpp"
        path.write_text(library_source(self.library_name, symbols))
        return path

    @property
    def header(self):
        return self.root / "nothing.hpp"

    @property
    def entry(self):
        return self.root / "nothing.cpp"


@pytest.fixture(scope="module")
def table(compiler, tmp_path_factory):
    """Build a library with all support sources, which compile without a warning, and return its target."""
    recipe = CpuTarget().recipe(BuildRequest(arch="gfx950"))
    cache = ObjectCache(object_cache_dir())
    tree = OneKernel(tmp_path_factory.mktemp("tree"))
    tree.header.write_text("")
    # the prefix header is all that declares the row's type
    tree.entry.write_text('extern "C" { extern const ckprof_kernel row; const ckprof_kernel row{}; }\n')
    result = build_tree(tree, recipe, work_dir=tree.root, cache=cache, timeout_s=120)
    assert result.failures == {}
    keys = Keys(recipe, FolderDigests(cache.folder_digests))
    for source in recipe.support_sources:
        said = cache.object_path(keys.plain(source)).with_name(MESSAGES_FILE)
        assert not said.exists(), said.read_text()
    function = ctypes.CDLL(str(result.library)).ckprof_get_library
    function.restype = ctypes.POINTER(Library)
    loaded = function().contents
    assert (loaded.abi_version, loaded.kernel_count) == (abi_version(), 1)
    return loaded.target.contents


def text_of(function, *arguments):
    buffer = ctypes.create_string_buffer(200)
    status = function(*arguments, buffer, len(buffer))
    return status, buffer.value.decode()


@pytest.mark.compiler
def test_selects_and_describes_devices(table):
    assert table.id == b"cpu"
    assert text_of(table.select_device, b"gfx942:xnack-", 0) == (0, "")
    table.set_cpu_threads(3)
    description = text_of(table.describe_device)[1]
    assert re.fullmatch(r"gfx942 modelled with 304 compute units on 3 CPU threads, \w.*", description)
    table.set_cpu_threads(0)
    assert f"on {len(os.sched_getaffinity(0))} CPU threads" in text_of(table.describe_device)[1]
    status, why = text_of(table.select_device, b"sm_90", 0)
    assert status == 1 and why == f"'sm_90' is not modelled; known are {', '.join(architectures())}"
    assert text_of(table.select_device, b"gfx942", 1)[0] == 1
    assert text_of(table.describe_device)[1].startswith("gfx942")
    short = ctypes.create_string_buffer(b"x" * 7, 8)
    assert table.select_device(b"sm_90", 0, short, 5) == 1 and short.value == b"'sm_"


@pytest.mark.compiler
def test_memory_is_aligned_and_copied(table):
    for size in (0, 1, 4097, 5 << 20):
        memory = table.allocate(size)
        assert memory and memory % (1 << 21 if size > 1 << 21 else 4096) == 0
        data = os.urandom(size)
        back = ctypes.create_string_buffer(size + 1)
        assert table.copy_to_device(memory, data, size) == 0
        assert table.copy_to_host(back, memory, size) == 0
        assert back.raw[:size] == data
        table.release(memory)
    assert table.allocate(2**64 - 1) is None
    assert table.allocate(2**62) is None


@pytest.mark.compiler
def test_flushing_touches_all_that_memory(table):
    def seconds(size):
        assert table.flush_cache(size) == 0  # the first call allocates
        best = 1e9
        for _ in range(5):
            started = time.perf_counter()
            assert table.flush_cache(size) == 0
            best = min(best, time.perf_counter() - started)
        return best

    small, large = seconds(1 << 20), seconds(64 << 20)
    # what is not left out by the compiler takes its time: 64 MiB at less than 400 GB/s, far more than 1 MiB
    assert large > 64 * 2**20 / 400e9 and large > 3 * small
    assert table.flush_cache(0) == 0 and table.flush_cache(1) == 0
    assert table.flush_cache(2**62) == AbiStatus.REJECTED
    assert table.flush_cache(1 << 20) == 0
