import re

import pytest

from ckprof.cli.main import main
from ckprof.errors import UsageError
from ckprof.kernels.requests import BuildOptions
from ckprof.measure.options import RunOptions
from ckprof.model.recipe import BuildRecipe, BuildRequest, Product, Purpose
from ckprof_plugins.emulator import device, library

CPU_PROBLEM = "2 1 1 16 16 3 3 10 10 1 1 1 1 1 1 1 1"


variables = device.EmulatedDevice().variables


def test_settings_become_variables():
    assert variables("emulated") == {}
    assert variables("emulated:seed=7,threads=2,budget=0,memory=65536,check=races+waits") == {
        "CKPROF_EMULATED_SEED": "7",
        "CKPROF_EMULATED_THREADS": "2",
        "CKPROF_EMULATED_BUDGET": "0",
        "CKPROF_EMULATED_MEMORY": "65536",
        "CKPROF_EMULATED_CHECKS": "races,waits",
    }
    assert variables("emulated:faults=abort") == {"CKPROF_EMULATED_FAULTS": "abort"}
    assert variables("emulated:check=all")["CKPROF_EMULATED_CHECKS"] == ",".join(device.CHECKS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("emulated:sed=1", "unknown setting 'sed'"),
        ("emulated:seed=-1", "seed is '-1', expected a number"),
        ("emulated:threads=0", "threads is '0'"),
        ("emulated:check=race", "unknown check 'race'"),
        ("emulated:faults=stick", "faults is 'stick', expected error or abort"),
        ("emulated:order=random", "order is 'random', expected forward or reverse"),
    ],
)
def test_wrong_settings_are_named(text, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        variables(text)


def test_the_emulator_reads_the_variables_and_has_the_checks():
    options = (library.SOURCE_DIR / "runtime" / "options.cpp").read_text()
    every = variables("emulated:seed=1,threads=1,budget=1,memory=1,faults=abort,order=reverse,check=all")
    assert set(re.findall(r'"(CKPROF_EMULATED_\w+)"', options)) == {
        *every,
        "CKPROF_EMULATED_FAIL",
        "CKPROF_EMULATED_OMIT",
    }
    session = (library.SOURCE_DIR / "checks" / "session.cpp").read_text()
    assert tuple(re.findall(r'\{"(\w+)", &make_', session)) == device.CHECKS


class Linked:
    """A target whose recipe links no runtime."""

    id = "hip"

    def recipe(self, request):
        product = Product.CODE_OBJECTS if request.purpose is Purpose.INSPECT else Product.LIBRARY
        return BuildRecipe(
            target="hip",
            arch=request.arch,
            api_level="2025-11",
            compiler=None,
            compile_flags=(),
            link_flags=("-pthread",),
            include_dirs=(),
            prefix_header="",
            support_sources=(),
            machine_identity="",
            product=product,
            last_level_cache_bytes=2**28,
        )


def request_of(**changes):
    return BuildRequest(**{"arch": "gfx942:xnack-", "device": "emulated:seed=3", **changes})


def test_libraries_are_linked_with_the_device(monkeypatch, tmp_path):
    monkeypatch.setattr(device, "library_path", lambda: tmp_path / "libamdhip64.so")
    found = device.EmulatedDevice().recipe(Linked(), request_of())
    assert found.link_flags == ("-pthread", f"-L{tmp_path}", f"-Wl,-rpath,{tmp_path}", "-l:libamdhip64.so")
    assert found.worker_variables == (("CKPROF_EMULATED_SEED", "3"),)
    assert found.last_level_cache_bytes == 2**16
    assert [(part.name, part.present) for part in found.parts] == [("the emulated device", False)]


def test_sources_name_the_device_of_architectures_that_are_emulated(monkeypatch, tmp_path):
    monkeypatch.setattr(device, "library_path", lambda: tmp_path / "libamdhip64.so")
    sources = device.EmulatedDevice().recipe(Linked(), request_of(sources_only=True))
    assert "-l:libamdhip64.so" in sources.link_flags and not sources.worker_variables
    for purpose in (Purpose.INSPECT, Purpose.SUPPORT_CHECK):
        found = device.EmulatedDevice().recipe(Linked(), request_of(purpose=purpose))
        assert (found.link_flags, found.parts) == (("-pthread",), ())
    with pytest.raises(UsageError, match="gfx1100 cannot be emulated; these can: gfx90a, gfx942, gfx950"):
        device.EmulatedDevice().recipe(Linked(), request_of(arch="gfx1100"))


def test_a_run_is_built_for_its_device():
    assert RunOptions(device=1).built_for(BuildOptions()) == BuildOptions()
    run = RunOptions(device="emulated", checks=("races", "waits"))
    assert run.built_for(BuildOptions()).device == "emulated:check=races+waits"
    run = RunOptions(device="emulated:seed=3", checks=("all",))
    assert run.built_for(BuildOptions()).device == "emulated:seed=3,check=all"
    assert run.device_index == 0
    with pytest.raises(UsageError, match="--check races: device 0 is one of this machine"):
        RunOptions(checks=("races",))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--target", "cpu", "--device", "emulated"), "target cpu has no device of its own: emulated"),
        (("--target", "hip", "--device", "simulated"), "unknown device 'simulated'"),
        (("--target", "hip", "--device", "emulated", "--check", "racing"), "unknown check 'racing'"),
        (("--target", "hip", "--check", "races"), "device 0 is one of this machine"),
        (("--target", "hip", "--device", "-1"), "device is -1"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_built(capsys, options, message):
    command = ["run", "fwd", "--conf", "forward/tests/nhwgc_fp16", "--instance", "0", "--arch", "gfx942"]
    assert main([*command, "--problem", CPU_PROBLEM, *options]) == 2
    assert message in capsys.readouterr().err


def test_a_library_without_the_device_is_refused_by_name(capsys, tmp_path):
    missing = tmp_path / "library.so"
    missing.write_bytes(b"")
    command = ["call", "fwd", str(missing), "--problem", CPU_PROBLEM, "--device", "simulated"]
    assert main(command) == 2
    assert "unknown device 'simulated'; did you mean 'emulated'?" in capsys.readouterr().err
