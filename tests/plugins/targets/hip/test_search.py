"""Devices, headers, device libraries and compilers: found, missing, unusable."""

import stat
from types import SimpleNamespace

import pytest

from ckprof.errors import ToolchainError, UsageError
from ckprof.model.device import FindingState
from ckprof.model.recipe import BuildRequest, Purpose
from ckprof_plugins.targets.cpu.target import INCLUDE_DIR
from ckprof_plugins.targets.hip import doctor, rocm, toolchain
from ckprof_plugins.targets.hip.devices import arch_name, devices
from ckprof_plugins.targets.hip.headers import find_headers
from ckprof_plugins.targets.hip.target import HipTarget


@pytest.mark.parametrize(
    ("version", "name"),
    [
        (90402, "gfx942"),
        (90010, "gfx90a"),
        (90500, "gfx950"),
        (90008, "gfx908"),
        (120001, "gfx1201"),
        (0, ""),
    ],
)
def test_names_of_architectures(version, name):
    assert arch_name(version) == name


def test_devices_are_those_of_the_driver(topology, tmp_path):
    found = devices(topology(0, 90402, 90010))
    assert [(device.index, device.arch, device.compute_units) for device in found] == [
        (0, "gfx942", 304),
        (1, "gfx90a", 304),
    ]
    assert devices(tmp_path / "missing") == ()


@pytest.mark.parametrize(
    ("selection", "archs"),
    [
        ("1", ["gfx90a"]),
        ("1,0", ["gfx90a", "gfx942"]),
        ("", ["gfx942", "gfx90a"]),
        ("-1", []),
        ("0,7,1", ["gfx942"]),
        ("1,1,0", ["gfx90a", "gfx942"]),
        ("GPU-1234", []),
        ("GPU-00000000000004d3,0", ["gfx90a", "gfx942"]),
    ],
)
def test_visible_devices(topology, monkeypatch, selection, archs):
    monkeypatch.setenv("HIP_VISIBLE_DEVICES", selection)
    assert [device.arch for device in devices(topology(90402, 90010))] == archs


def test_headers_by_option_variable_and_place(tmp_path, monkeypatch):
    monkeypatch.delenv("CK_ROOT", raising=False)
    assert find_headers(INCLUDE_DIR).origin == "--ck-root"
    assert find_headers(INCLUDE_DIR.parent).root == INCLUDE_DIR.resolve()
    monkeypatch.setenv("CK_ROOT", str(INCLUDE_DIR))
    assert find_headers().origin == "$CK_ROOT"
    with pytest.raises(ToolchainError, match=r"--ck-root .*: no ck_tile/core.hpp there"):
        find_headers(tmp_path)
    monkeypatch.delenv("CK_ROOT")
    monkeypatch.setenv("CKPROF_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("ckprof_plugins.targets.hip.headers.rocm_roots", lambda: ())
    with pytest.raises(ToolchainError, match=r"(?s)no CK Tile headers found.*targets.hip.fetch"):
        find_headers()


def test_a_relative_stands_in_for_a_missing_device_library(tmp_path):
    store, folder = tmp_path / "store", tmp_path / "bitcode"
    folder.mkdir()
    for name in ("ockl", "oclc_isa_version_90a", "oclc_isa_version_940"):
        (folder / f"{name}.bc").write_bytes(b"BC")
    assert rocm.library_folder(folder, "gfx90a", store) == folder
    linked = rocm.library_folder(folder, "gfx942", store)
    assert (linked / "oclc_isa_version_942.bc").resolve() == folder / "oclc_isa_version_940.bc"
    assert (linked / "ockl.bc").resolve() == folder / "ockl.bc"
    with pytest.raises(ToolchainError, match="no device library for gfx1250"):
        rocm.library_folder(folder, "gfx1250", store)


@pytest.fixture
def fake_clang(tmp_path, monkeypatch):
    """Return a function that writes a compiler which answers as told."""
    monkeypatch.setenv("CKPROF_CACHE_DIR", str(tmp_path / "cache"))

    def write(banner="clang version 19.1.7", archs="gfx90a gfx942", linked=""):
        path = tmp_path / "bin" / "fake-clang"
        path.parent.mkdir(exist_ok=True)
        cpus = "".join(f"echo '\t{arch}'\n" for arch in archs.split())
        path.write_text(
            "#!/bin/sh\n"
            'case "$*" in\n'
            f"--version) echo '{banner}';;\n"
            "*-dumpmachine*) echo x86_64-linux-gnu;;\n"
            f"*print-supported-cpus*) {cpus or ':'} ;;\n"
            "*print-resource-dir*) echo /nowhere;;\n"
            f"*'-###'*) echo '{linked}' >&2;;\n"
            "*print-prog-name*) echo missing-tool;;\n"
            "esac\n: > /dev/null\n"
        )
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        toolchain._ask.cache_clear()
        return str(path)

    return write


@pytest.mark.parametrize(
    ("version", "linked", "libraries", "further"),
    [
        ("22.1.8", "ocml.bc", ("ockl", "oclc_isa_version_90a", "oclc_daz_opt_off"), True),
        (
            "22.1.8",
            "ocml.bc oclc_daz_opt_off.bc",
            ("ockl", "oclc_isa_version_90a", "oclc_daz_opt_off"),
            False,
        ),
        ("22.1.8", "ocml.bc", ("ockl", "oclc_isa_version_90a"), False),
        ("19.1.7", "ocml.bc", ("ockl", "oclc_isa_version_90a", "oclc_daz_opt_off"), False),
    ],
)
def test_what_newer_compilers_do_not_link_is_linked_for_older_libraries(
    version, linked, libraries, further, fake_clang, tmp_path
):
    folder = tmp_path / "bitcode"
    folder.mkdir()
    for name in libraries:
        (folder / f"{name}.bc").write_bytes(b"BC")
    hip = toolchain.find_hip_compiler("gfx90a", fake_clang(f"clang version {version}", linked=linked))
    first, *others = rocm.library_flags(folder, hip, "gfx90a")
    assert first == f"--rocm-device-lib-path={folder}"
    bitcode = ["-Xclang", "-mlink-builtin-bitcode", "-Xclang", str(folder / "oclc_daz_opt_off.bc")]
    assert others == (bitcode if further else [])


def test_a_compiler_that_knows_the_architecture_is_taken(fake_clang):
    hip = toolchain.find_hip_compiler("gfx942", fake_clang())
    assert hip.archs == {"gfx90a", "gfx942"}
    assert "misplaces barriers" in hip.caution
    assert hip.linker == hip.bundler == ""


@pytest.mark.parametrize(
    ("banner", "archs", "why"),
    [
        ("clang version 19.1.7", "", "built without the AMDGPU backend"),
        ("clang version 19.1.7", "gfx90a", "does not know gfx942"),
        ("clang version 15.0.1", "gfx942", "too old, 17 is needed"),
        ("g++ (GCC) 12.2.0 Free Software Foundation", "gfx942", "it is not clang"),
    ],
)
def test_a_compiler_that_cannot_be_used_says_why(fake_clang, banner, archs, why):
    with pytest.raises(ToolchainError, match=why) as caught:
        toolchain.find_hip_compiler("gfx942", fake_clang(banner, archs))
    assert caught.value.exit_code == 5


def test_no_compiler_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setattr(toolchain, "_candidates", lambda: iter([(("no-such-compiler",), False)]))
    with pytest.raises(ToolchainError, match=r"(?s)no compiler for gfx942 found.*apt-get install clang-19"):
        toolchain.find_hip_compiler("gfx942")
    with pytest.raises(ToolchainError, match="apt-get install clang-22"):
        toolchain.find_hip_compiler("gfx950")


@pytest.mark.parametrize(
    ("status", "state", "found"),
    [(0, FindingState.OK, "compiles with "), (1, FindingState.MISSING, "a.h: error: no half")],
)
def test_doctor_tries_host_code(monkeypatch, tmp_path, fake_clang, status, state, found):
    """CK Builder's reflection is compiled so: headers of HIP and the compiler may not fit each other."""
    hip = toolchain.find_hip_compiler("gfx942", fake_clang())
    done = SimpleNamespace(returncode=status, stderr="In file a.h\na.h: error: no half\n")
    monkeypatch.setattr(doctor, "search_hip_compilers", lambda *_, **__: ((hip,), ()))
    monkeypatch.setattr(doctor, "find_hip_root", lambda: tmp_path)
    monkeypatch.setattr(doctor, "ask", lambda command, timeout: done)
    (finding,) = (one for one in doctor.findings() if one.topic == "HIP host code")
    assert finding.state is state and finding.detail.startswith(found)


def test_doctor_never_raises_and_names_one_command(monkeypatch, tmp_path):
    monkeypatch.setattr(doctor, "search_hip_compilers", lambda *_, **__: ((), ()))
    monkeypatch.setattr(doctor, "find_hip_root", lambda: (_ for _ in ()).throw(ToolchainError("no headers")))
    monkeypatch.setenv("CK_ROOT", str(tmp_path))
    found = {finding.topic: finding for finding in doctor.findings()}
    assert found["HIP compiler"].state is FindingState.MISSING
    assert found["HIP headers"].advice.startswith("apt-get install clang-19 ")
    assert found["CK Tile headers"].advice.startswith("python -m ")


def test_an_unknown_architecture_is_rejected():
    with pytest.raises(UsageError, match="gfx9420"):
        HipTarget().recipe(BuildRequest(arch="gfx9420", purpose=Purpose.INSPECT))


def test_the_target_needs_a_device():
    target = HipTarget()
    assert target.id == "hip"
    assert not target.embedded
    assert target.default_arch.startswith("gfx")
