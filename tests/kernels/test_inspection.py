"""Folders and reports that ``ckprof inspect`` is given, and those that are none."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from ckprof import Profiler
from ckprof.cli.main import main
from ckprof.errors import ExitCode, InputError, NothingLeftError
from ckprof.kernels import inspection
from ckprof.kernels.builder import BuildResult
from ckprof.kernels.code_objects import CodeObjects, KernelCode
from ckprof.kernels.inspection import load_inspection
from ckprof.kernels.requests import BuildOptions
from ckprof.model.device import DeviceKernel, Occupancy
from ckprof.model.outcome import Status
from ckprof.model.recipe import Purpose

LIST = Path(__file__).parents[2] / "conf" / "forward" / "tests" / "nhwgc_fp16.conf"


class Target:
    """Compiles nothing: the machine code of a kernel is its name."""

    id = "told"

    def __init__(self):
        self.asked = []

    def recipe(self, request):
        self.asked.append(request)
        compiler = SimpleNamespace(description="told 1")
        return SimpleNamespace(
            target=self.id, arch=request.arch, api_level=request.api_level, compiler=compiler
        )

    def estimate(self, kernel, work):
        return None

    def inspect(self, path, arch):
        numbers = dict.fromkeys(
            ("agprs", "sgprs", "vgpr_spills", "sgpr_spills", "lds_bytes", "scratch_bytes", "argument_bytes"),
            0,
        )
        occupancy = Occupancy(waves_per_simd=8, workgroups_per_cu=8, limited_by="waves")
        return [
            DeviceKernel(
                symbol=path.read_text(),
                arch=arch,
                vgprs=len(path.name),
                wave_lanes=64,
                workgroup_lanes=256,
                code_bytes=4,
                occupancy=occupancy,
                **numbers,
            )
        ]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The sources of two kernels, as a build leaves them."""
    monkeypatch.chdir(tmp_path)
    arguments = ("--conf", str(LIST), "--instance", "0,1", "--build-dir", "out")
    assert main(["generate", "fwd", *arguments]) == 0
    return tmp_path / "out"


@pytest.fixture
def told(monkeypatch, tmp_path):
    """The target, and a build that makes what it is asked but for kernels whose names hold ``failing``."""
    target = Target()
    failing = set()

    def build(tree, recipe, *, work_dir, cache, timeout_s, jobs):
        objects, failures = {}, {}
        for kernel in tree.kernels:
            assert kernel.header.is_file() and kernel.entry.is_file()
            if kernel.key in failing:
                failures[kernel.key] = (Status.COMPILE_ERROR, "no")
                continue
            objects[kernel.key] = tmp_path / f"{kernel.key}.co"
            objects[kernel.key].write_text(f"_Z{kernel.device_marker}v")
        return BuildResult(objects=objects, failures=failures)

    monkeypatch.setattr(inspection, "build_tree", build)
    monkeypatch.setattr(inspection, "inspecting_target", lambda session, name: target)
    return SimpleNamespace(target=target, failing=failing)


def manifest_of(folder):
    return json.loads((folder / "manifest.json").read_text())


def test_code_objects_are_made_from_the_sources_of_a_library(folder, told):
    before = sorted(folder.rglob("*"))
    inspection, failed = load_inspection(Profiler(), folder, BuildOptions())
    names = [kernel["name"] for kernel in manifest_of(folder)["kernels"]]
    assert [kernel.name for kernel in inspection.kernels] == names
    assert not inspection.unattributed
    assert not failed
    (request,) = told.target.asked
    content = manifest_of(folder)
    assert (request.arch, request.api_level, request.operation, request.purpose) == (
        *(content["arch"], content["api_level"], "fwd"),
        Purpose.INSPECT,
    )
    # the folder is the user's
    assert sorted(folder.rglob("*")) == before


def test_without_a_marker_a_file_tells_whose_functions_they_are(told, tmp_path):
    kernels = []
    for name, file, marker in (("alone", "a", ""), ("one", "b", ""), ("two", "b", "marked")):
        path = tmp_path / f"{file}.co"
        path.write_text("_Zmarkedv")
        kernels.append(KernelCode(name=name, key=name, file=str(path), marker=marker))
    code = CodeObjects(target="any", arch="gfx942", api_level="1", compiler="c", kernels=tuple(kernels))
    found = inspection.inspect_build(code, told.target)
    assert [kernel.name for kernel in found.kernels] == ["alone", "two"]
    assert found.unattributed == ("one",)


def test_kernels_that_do_not_compile_are_named(folder, told):
    first, second = manifest_of(folder)["kernels"]
    told.failing.add(first["key"])
    inspection, failed = load_inspection(Profiler(), folder, BuildOptions())
    assert [kernel.name for kernel in inspection.kernels] == [second["name"]]
    assert list(failed) == [first["name"]]
    told.failing.add(second["key"])
    with pytest.raises(NothingLeftError, match="no kernel compiles"):
        load_inspection(Profiler(), folder, BuildOptions())


def damaged(change):
    def apply(folder):
        content = manifest_of(folder)
        change(content)
        (folder / "manifest.json").write_text(json.dumps(content))

    return apply


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: next(folder.glob("kernels/*.hpp")).unlink(), "a source that manifest.json lists"),
        (damaged(lambda content: content.pop("kernels")), "damaged: KeyError"),
        (damaged(lambda content: content.update(kernels=3)), "damaged: TypeError"),
        (damaged(lambda content: content["kernels"][0].update(files=["/etc/passwd", "x"])), "not below"),
        (damaged(lambda content: content["kernels"][0].update(files=["one"])), "damaged: ValueError"),
        (damaged(lambda content: content.update(version=7)), "expected schema ckprof-source-tree version 1"),
        (lambda folder: (folder / "manifest.json").unlink(), "neither code_objects.json nor manifest.json"),
    ],
)
def test_a_damaged_folder_is_refused(folder, told, damage, message):
    damage(folder)
    with pytest.raises(InputError, match=message):
        load_inspection(Profiler(), folder, BuildOptions())


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("out",), ExitCode.USAGE, "target cpu builds no code objects that could be inspected"),
        (("out", "--problem", "conv"), ExitCode.USAGE, "--problem goes with a direction whose instances"),
        ((".",), ExitCode.INPUT, "expected a folder of 'ckprof build --build-dir', or a report"),
        (("out/manifest.json",), ExitCode.USAGE, "target cpu builds no code objects"),
        (("out/CMakeLists.txt",), ExitCode.INPUT, "not a report of 'ckprof inspect --format json'"),
        (("--diff", "out", "nothere"), ExitCode.USAGE, "target cpu builds no code objects"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_is_no_folder_of_device_code_is_said(capsys, arguments, code, message):
    assert main(["inspect", *arguments]) == code
    assert message in capsys.readouterr().err
