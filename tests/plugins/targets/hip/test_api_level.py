"""What the hip target finds in headers and ROCm, and which kernels and functions are compiled together."""

import ctypes
import itertools
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

import ckprof_plugins.targets.hip
from ckprof.errors import ToolchainError
from ckprof.kernels.units import common_part_of, partition
from ckprof.measure.worker.device_checks import DeviceChecks
from ckprof.model.architecture import API_LEVELS
from ckprof.model.device import FindingState
from ckprof_plugins.targets.cpu.target import INCLUDE_DIR
from ckprof_plugins.targets.hip import doctor, recipe, rocm
from ckprof_plugins.targets.hip.headers import detect_api_level, expand, table, template_parameters
from ckprof_plugins.targets.hip.recipe import FIELDS_WITHOUT_COST


def write_headers(root, level, *, extra=""):
    """Write the three headers that tell a level, with the parameters that its table lists."""
    for name, kinds in table().levels[level].items():
        parameters = ", ".join(f"{kind} P{index}_" for index, kind in enumerate(expand(kinds)))
        path = root / "ck_tile" / table().headers[name]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"template <{parameters}{extra}>\nstruct {name}\n{{}};\n")
    return root


def test_levels_are_those_of_kernels_and_of_the_host_model():
    assert tuple(table().levels) == API_LEVELS
    assert detect_api_level(INCLUDE_DIR) == API_LEVELS[-1]


@pytest.mark.parametrize("level", API_LEVELS)
def test_parameters_tell_the_level(level, tmp_path):
    assert detect_api_level(write_headers(tmp_path, level)) == level


@pytest.mark.parametrize("level", API_LEVELS)
def test_further_parameters_need_defaults(level, tmp_path):
    assert detect_api_level(write_headers(tmp_path / "a", level, extra=", bool More_ = false")) == level
    with pytest.raises(ToolchainError, match="of no API level that ckprof knows"):
        detect_api_level(write_headers(tmp_path / "b", level, extra=", bool More_"))


def test_an_unknown_level_is_told_with_what_was_found(tmp_path):
    write_headers(tmp_path, API_LEVELS[0])
    path = tmp_path / "ck_tile" / table().headers["GroupedConvTraits"]
    path.write_text("template <int N>\nstruct GroupedConvTraits {};")
    with pytest.raises(ToolchainError) as caught:
        detect_api_level(tmp_path)
    message = str(caught.value)
    assert "GroupedConvTraits: int\n" in message
    assert "--ck-root" in message
    assert caught.value.exit_code == 5


def test_a_missing_header_is_told(tmp_path):
    with pytest.raises(ToolchainError, match=r"cannot be read .*--ck-root"):
        detect_api_level(tmp_path)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("template <typename A, class B = int>\nstruct T {};", "typename typename"),
        ("template <ck_tile::index_t N = 1, bool B = (1 > 0)> struct T;", "index_t bool"),
        ("template <typename X>\nstruct Other {};\ntemplate <bool B> using T = int;", "bool"),
        (
            "// template <int N> struct T\ntemplate <typename A, // struct T\n bool B> struct T {};",
            "typename bool",
        ),
        ("template <typename A = std::map<int, long>, bool B = false> struct T;", "typename bool"),
        ("struct T {};", ""),
        ("using T = int;", ""),
    ],
)
def test_parameters_are_read_as_written(text, kinds):
    found = template_parameters(text, "T")
    assert " ".join(kind for kind, _ in found) == kinds


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


TILES = ((64, 64, 32), (64, 64, 64), (128, 64, 32), (128, 64, 64), (64, 128, 32), (64, 128, 64))


def units_of(make_instance):
    """Two pipelines with two vector sizes of each tile, in an order that has equal pipelines side by side."""
    kinds = itertools.product(("compv1", "compv3"), TILES, (8, 4))
    for number, (pipeline, (m, n, k), vector) in enumerate(kinds):
        instance = make_instance(
            **{"pipeline": pipeline, "tile_m": m, "tile_n": n, "tile_k": k},
            **dict.fromkeys(("vector_size_a", "vector_size_b", "vector_size_c"), vector),
        )
        weight = 1 if pipeline == "compv1" else 3
        yield SimpleNamespace(
            key=str(number), kernel=SimpleNamespace(fields=instance.fields, weight=weight), tile=(m, n, k)
        )


def test_kernels_of_one_tile_come_together_by_fields_of_instances(make_instance):
    units = list(units_of(make_instance))
    groups = partition(units, 2, {}, 36, lambda unit: common_part_of(unit, FIELDS_WITHOUT_COST))
    assert [len(group) for group in groups] == [12, 12]
    tiles = [{unit.tile for unit in group} for group in groups]
    assert len(tiles[0]) == len(tiles[1]) == 3
    assert not tiles[0] & tiles[1]
    assert set(make_instance().fields()) >= FIELDS_WITHOUT_COST


SOURCE = Path(ckprof_plugins.targets.hip.__file__).parent / "src" / "checks.cpp"


def test_checks_are_exported_and_work_with_the_runtime(build, amdhip, tmp_path):
    library = tmp_path / "libchecks.so"
    linked = [f"-L{amdhip.parent}", f"-Wl,-rpath,{amdhip.parent}", "-lamdhip64", "-o", str(library)]
    subprocess.run([*build, str(SOURCE), "-Wl,-z,defs", *linked], check=True, timeout=120)
    assert DeviceChecks.of(ctypes.CDLL(str(library))) is not None
