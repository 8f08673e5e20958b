"""Kernels that are compiled together for AMD GPUs have the code that they have alone, to the instruction.

Needs what :mod:`tests.e2e.test_amd` needs.
"""

import os
import re
import subprocess

import pytest

from ckprof.kernels.code_objects import read_code_objects
from ckprof.model.recipe import BuildRequest, Purpose
from ckprof_plugins.targets.hip.code_object import read_metadata
from ckprof_plugins.targets.hip.instructions import find_disassembler
from ckprof_plugins.targets.hip.target import HipTarget
from tests.e2e.catalogs import TILE, write_catalog
from tests.e2e.test_amd import FORWARD

#: which compiler of one call optimises how far
_LEVEL = re.compile(r'"-triple" "([a-z0-9_]+)-.*?"(-O\d)"')

pytestmark = [pytest.mark.amd, pytest.mark.usefixtures("amd_toolchain"), pytest.mark.timeout(3000)]

#: what decides how much of its code a kernel has in common with others differs: pipeline, tile, vectors
KERNELS = {
    "forward": [
        *({**TILE, **change} for change in FORWARD if change["pipeline"] in ("compv1", "compv3")),
        {**TILE, "pipeline": "compv1", "vector_size_a": 4, "vector_size_b": 4, "vector_size_c": 4},
        {**TILE, "pipeline": "compv1", "specialization": "filter1x1_stride1_pad0"},
    ],
    "bwd_weight": [{**TILE, "pipeline": "compv1"}, {**TILE, "pipeline": "compv1", "tile_n": 128}],
}
#: every pipeline of November's headers
PIPELINES = {
    "forward": [{**TILE, **change} for change in FORWARD if change["pipeline"] != "compv5"],
    "bwd_data": [{**TILE, "pipeline": "compv1"}, {**TILE, "pipeline": "compv3"}],
    "bwd_weight": [{**TILE, "pipeline": "compv1"}, {**TILE, "pipeline": "mem", "two_stage": False}],
}
NOVEMBER = os.environ.get("CK_BUILDER_ROOT", "")
#: with the guard of the header defined, it is empty
WITHOUT_SHARED_LOADS = "-DCKPROF_SHARED_LOADS_HPP"
#: ``0000000000001900 <name>:``, and ``    s_endpgm    // 00000000183C: BF810000``
_LINE = re.compile(r"^[0-9a-f]+ <(?P<function>.*)>:$|^[ \t]+(?P<text>\S.*?)[ \t]*// (?P<address>[0-9A-F]+):")


def functions(path):
    """Return the instructions of each kernel in a code object, and what its note says of it."""
    text = subprocess.run(
        [find_disassembler(), "-d", str(path)], capture_output=True, text=True, check=True
    ).stdout
    records, code_bytes = read_metadata(path)
    notes = {str(note[".name"]): note for note in records}
    found = {}
    start, name = -1, ""
    for line in filter(None, map(_LINE.match, text.splitlines())):
        if line["function"] is not None:
            name, start = line["function"], -1
            found[name] = ([], notes.get(name, {}))
            continue
        address = int(line["address"], 16)
        start = address if start < 0 else start
        # what lies behind the end is padding
        if address < start + code_bytes.get(name, 0):
            found[name][0].append(line["text"])
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("direction", "variant"), [("fwd", "forward"), ("bwd_weight", "bwd_weight")])
def test_kernels_of_one_unit_have_the_code_of_kernels_by_themselves(ckprof, tmp_path, direction, variant):
    kernels = KERNELS[variant]
    catalog = write_catalog(tmp_path / "list.json", variant, kernels)

    def built(folder, *chosen):
        ckprof(
            *("build", direction, "--conf", catalog, "--target", "hip", "--arch", "gfx942", "--jobs", "1"),
            *("--build-dir", folder, *chosen),
            env={"CKPROF_CACHE_DIR": str(tmp_path / f"cache-{folder}")},
            timeout=2400,
        ).ok()
        code = read_code_objects(tmp_path / folder)
        return sorted({kernel.path for kernel in code.kernels})

    (unit,) = built("together")
    together = functions(unit)
    alone = {}
    for number in range(len(kernels)):
        (unit,) = built(f"alone-{number}", "--instance", str(number))
        alone |= functions(unit)
    assert together.keys() == alone.keys()
    # headers define further functions, which all units have
    assert sum(len(code[0]) for name, code in alone.items() if "kentry" in name) > 500 * len(kernels)
    for name, code in alone.items():
        assert together[name] == code, name


@pytest.mark.slow
@pytest.mark.skipif(not NOVEMBER, reason="CK_BUILDER_ROOT names no headers of November 2025")
@pytest.mark.parametrize(
    ("direction", "variant"), [("fwd", "forward"), ("bwd_data", "bwd_data"), ("bwd_weight", "bwd_weight")]
)
def test_shared_loads_change_no_instruction(ckprof, tmp_path, direction, variant):
    catalog = write_catalog(tmp_path / "list.json", variant, PIPELINES[variant])
    codes = []
    for name, flags in (("shared", ()), ("own", (f"--cxx-flags={WITHOUT_SHARED_LOADS}",))):
        ckprof(
            *("build", direction, "--conf", catalog, "--target", "hip", "--arch", "gfx942", "--jobs", "1"),
            *("--ck-root", NOVEMBER, "--build-dir", name, *flags),
            env={"CKPROF_CACHE_DIR": str(tmp_path / f"cache-{name}")},
            timeout=2400,
        ).ok()
        (unit,) = {kernel.path for kernel in read_code_objects(tmp_path / name).kernels}
        codes.append(functions(unit))
    shared, own = codes
    assert shared == own
    assert sum("kentry" in name for name in own) > len(PIPELINES[variant])


def test_libraries_optimise_code_of_the_device_as_code_objects_are(tmp_path):
    """Code of the host is optimised less, which must not reach the device."""
    source = tmp_path / "kernel.cpp"
    source.write_text("__global__ void kernel() {}\n")
    recipe = HipTarget().recipe(BuildRequest(arch="gfx942", device="emulated"))
    assert recipe.kernel_flags
    flags = (*recipe.compile_flags, *recipe.location_flags, *recipe.kernel_flags)
    command = [*recipe.compiler.command, *flags, "-###", "-c", str(source)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    assert dict(_LEVEL.findall(said)) == {"amdgcn": "-O3", "x86_64": "-O1"}
    assert "-O3" in HipTarget().recipe(BuildRequest(arch="gfx942", purpose=Purpose.INSPECT)).compile_flags
