"""A target without its device, from a plugin alone: what can be built, not be run, and be read."""

import pytest

from ckprof_plugins.targets.cpu.target import INCLUDE_DIR

pytestmark = [pytest.mark.compiler, pytest.mark.thorough]

PLUGIN = '''
from dataclasses import replace
from ckprof import hookimpl
from ckprof.model.device import DeviceKernel, Occupancy
from ckprof.model.recipe import Product, Purpose
from ckprof_plugins.targets.cpu.target import CpuTarget

class Absent(CpuTarget):
    """Compiles for the CPU, but says that its device is not there."""
    id = "absent"
    embedded = False

    def recipe(self, request):
        recipe = replace(super().recipe(request), target=self.id, cannot_run="no such device was found")
        library = request.purpose is Purpose.RUN
        return recipe if library else replace(recipe, product=Product.CODE_OBJECTS, functions_per_unit=2)

    def inspect(self, code_object, arch):
        from elftools.elf.elffile import ELFFile
        from elftools.elf.sections import SymbolTableSection
        with code_object.open("rb") as stream:
            names = [symbol.name for section in ELFFile(stream).iter_sections()
                     if isinstance(section, SymbolTableSection) for symbol in section.iter_symbols()]
        return [
            DeviceKernel(symbol=name, arch=arch, vgprs=len(name), agprs=0, sgprs=1, vgpr_spills=0,
                         sgpr_spills=0, lds_bytes=0, scratch_bytes=0, wave_lanes=64, workgroup_lanes=256,
                         argument_bytes=8, code_bytes=4,
                         occupancy=Occupancy(waves_per_simd=1, workgroups_per_cu=1, limited_by="lds"))
            for name in names if "Launcher" in name
        ]

    def estimate(self, kernel, work):
        return None

@hookimpl
def ckprof_register(registry):
    registry.add(Absent())
'''


@pytest.fixture
def absent(ckprof, tmp_path):
    (tmp_path / "absent.py").write_text(PLUGIN)

    def call(command, *arguments):
        chosen = ("--conf", "forward/tests/nhwgc_fp16", "--instance", "13", "--instance", "19")
        return ckprof(command, "fwd", *chosen, "--target", "absent", "--plugin", "absent.py", *arguments)

    return call


def test_code_objects_are_built_listed_and_read(absent, tmp_path):
    built = absent("build", "--build-dir", "kept").ok()
    assert built.out.strip() == str(tmp_path / "kept")
    assert len(list((tmp_path / "kept" / "code_objects").glob("*.co"))) >= 1
    assert absent("run", "--build-only").code == 0
    shown = absent("inspect", "--format", "csv").ok()
    rows = shown.out.splitlines()
    assert len(rows) == 3
    assert "compv1" in rows[1]


def test_headers_of_another_level_are_one_message(ckprof, tmp_path):
    (tmp_path / "model").symlink_to(INCLUDE_DIR)
    chosen = ("--conf", "forward/tests/nhwgc_fp16", "--instance", "13", "--target", "hip")
    called = ckprof("build", "fwd", *chosen, "--ck-root", "model", "--api-level", "2025-07")
    called.fails_with(2, "--api-level 2025-07", "are of 2026-06")
