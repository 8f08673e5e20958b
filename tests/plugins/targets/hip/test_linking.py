"""The HIP runtime library is found and linked where ROCm has a folder of its own."""

import shutil
import subprocess

import pytest

from ckprof.model.device import FindingState
from ckprof_plugins.targets.hip import doctor, recipe, rocm


@pytest.fixture
def rocm_folder(tmp_path, monkeypatch):
    """Return an empty folder that is the only one in which ROCm may lie."""
    folder = tmp_path / "rocm"
    (folder / "lib").mkdir(parents=True)
    monkeypatch.setattr(rocm, "rocm_roots", lambda: (folder,))
    return folder


def test_the_runtime_library_is_linked_and_found_again(rocm_folder):
    (rocm_folder / "lib" / "libamdhip64.so").touch()
    folder = rocm_folder / "lib"
    assert rocm.runtime_link_flags() == (f"-L{folder}", f"-Wl,-rpath,{folder}", "-lamdhip64")


def test_without_a_runtime_library_its_place_is_left_open(rocm_folder):
    assert rocm.runtime_link_flags() == ("-lamdhip64",)


@pytest.mark.compiler
def test_a_program_starts_without_a_search_path(amdhip, rocm_folder, tmp_path):
    """The flags are enough for the linker and the loader."""
    shutil.copy(amdhip, rocm_folder / "lib")
    source = tmp_path / "main.cpp"
    source.write_text(
        'extern "C" const char* hipGetErrorString(int);\n'
        "int main() { return hipGetErrorString(2)[0] != 'o'; }\n"
    )
    compiler = shutil.which("g++") or shutil.which("clang++")
    assert compiler is not None
    program = tmp_path / "program"
    command = [compiler, str(source), *rocm.runtime_link_flags(), "-o", str(program)]
    subprocess.run(command, check=True, timeout=60)
    subprocess.run([str(program)], check=True, timeout=60, env={})


def test_doctor_looks_for_the_runtime_library(rocm_folder):
    def runtime():
        return next(finding for finding in doctor.findings() if finding.topic == "HIP runtime")

    missing = runtime()
    assert missing.state is FindingState.OPTIONAL
    assert "no libamdhip64.so" in missing.detail
    (rocm_folder / "lib" / "libamdhip64.so").touch()
    assert runtime().detail == str(rocm_folder / "lib" / "libamdhip64.so")


@pytest.mark.parametrize(
    ("command", "scripted"), [(("/opt/rocm/bin/hipcc", "-O3"), True), (("clang++-19",), False)]
)
def test_variables_of_hipcc_are_those_of_hipcc(command, scripted):
    names = recipe.compiler_variables(command)
    wrapped = ("HIPCC_COMPILE_FLAGS_APPEND", "HIPCC_LINK_FLAGS_APPEND", "HIP_CLANG_PATH")
    assert names == ("HIP_DEVICE_LIB_PATH", *(wrapped if scripted else ()))
