"""What the family writes, what it refuses, and what its sources are compiled with."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from ckprof.errors import ToolchainError, UsageError
from ckprof.kernels.requests import InstanceQuery
from ckprof.lists.list_files import find_list, list_request
from ckprof.model.conversion import ListReading
from ckprof.model.recipe import BuildRecipe
from ckprof.model.types import DataType
from ckprof.paths import conf_root
from ckprof.profiler import Profiler
from ckprof_plugins.old_ck import family as module
from ckprof_plugins.old_ck.family import OldCkFamily

LIST = "forward/tests/nhwgc_fp16"
V3 = "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle_V3"


@pytest.fixture(scope="module")
def profiler():
    return Profiler()


def chosen(profiler, conf, *families):
    return profiler.instances(InstanceQuery(conf=conf, pipelines=families)).candidates


def test_lists_are_read_as_families_read_them(profiler):
    old, tile = (chosen(profiler, LIST, name) for name in ("old-ck", "ck-tile"))
    assert (len(old), len(tile)) == (66, len(chosen(profiler, LIST)))
    assert {one.pipeline.id for one in tile} == {"implicit_gemm"}
    both = chosen(profiler, LIST, "old-ck", "ck-tile")
    assert {one.instance.key for one in both} == {one.instance.key for one in (*old, *tile)}
    assert len({one.name for one in both}) == len(both)
    filtered = InstanceQuery(conf=LIST, pipelines="old-ck", filters='version == "v4" and tile_k == 64')
    assert 0 < len(profiler.instances(filtered).candidates) < 66


@pytest.mark.parametrize(
    ("conf", "old"),
    [
        ("forward/scale/tests/ndhwgc_int8", DataType.INT8),
        ("forward/tests/nhwgc_int8", None),
        ("forward/scale/tests/ndhwgc_fp16", None),
        ("forward/convscale/tests/ndhwgc_fp8", None),
    ],
)
def test_operations_of_int8_get_what_8_bits_hold_of_sums(profiler, conf, old):
    for family, expected in (("old-ck", old), ("ck-tile", None)):
        assert {one.instance.types.narrowed for one in chosen(profiler, conf, family)} == {expected}


OPERATIONS = {
    ("forward/bias_clamp/tests/nhwgc_fp16", "result"): "AddClamp{e.floor, e.ceiling}",
    ("forward/scaleadd_ab/tests/ndhwgc_fp16", "second"): "ScaleAdd{e.scale_wei}",
    ("forward/convscale_relu/tests/ndhwgc_fp8", "result"): (
        "ConvScaleRelu{e.scale_in, e.scale_wei, e.scale_out}"
    ),
    ("backward_weight/bilinear/tests/ndhwgc_fp16", "second"): "Bilinear{e.alpha, e.beta}",
    ("forward/dynamic_op/profiler/ndhwgc_fp16", "result"): "DynamicUnaryOp{Power{e.alpha, e.beta, e.gamma}}",
    ("forward/bias_clamp/tests/nhwgc_fp16", "first"): "PassThrough{}",
}


@pytest.mark.parametrize(("conf", "role"), OPERATIONS)
def test_parameters_make_operations(profiler, conf, role):
    first = chosen(profiler, conf, "old-ck")[0]
    header = first.pipeline.render(first.instance, "gfx942", "2025-11").header
    body = header.partition(f"static auto {role}(")[2].partition("\n    }\n")[0]
    assert OPERATIONS[conf, role] in body.replace("ck::tensor_operation::element_wise::", "")
    operation = first.instance.elementwise_op
    assert operation is not None
    assert f"ElementwiseNumber = {operation.number};" in header
    problem = first.pipeline.default_problem(
        first.instance, profiler.registry.operation("fwd").default_problem[first.instance.ndim]
    )
    assert problem.elementwise.operation is operation


@pytest.mark.parametrize(
    ("arch", "level", "expected"),
    [
        ("gfx942", "2025-11", []),
        ("gfx1201", "2025-11", ["the old library's MFMA kernels are for gfx90a, gfx942, gfx950"]),
        ("gfx942", "2025-07", ["the old library is known as of 2025-11, the headers are of 2025-07"]),
    ],
)
def test_what_has_no_kernel_is_named(profiler, arch, level, expected):
    (instance, *_) = (one.instance for one in chosen(profiler, LIST, "old-ck"))
    unmet = OldCkFamily().unmet_requirements(instance, arch, level)
    assert [one.message for one in unmet] == expected


@pytest.fixture
def recipe(tmp_path, monkeypatch):
    """A recipe for a tree with the header of one class."""
    monkeypatch.setattr(module, "find_hip_root", lambda: tmp_path / "hip")
    root = tmp_path / "include"
    for name in ("ck/ck.hpp", "../library/include/ck/library/x.hpp"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    return BuildRecipe(
        target="hip",
        arch="gfx942",
        api_level="2025-11",
        compiler=SimpleNamespace(),
        compile_flags=(),
        link_flags=(),
        include_dirs=(root,),
        prefix_header="#include",
        support_sources=(),
        machine_identity="",
    )


#: template arguments of forward V3 in November 2025: types and values
V3_ARGUMENTS = "vtttttttttttttvvvvvvvvvvvvtttvvvvtttvvvvvvtvvvttv"


def v3_header(more=""):
    """Return a header that declares forward V3, its last five arguments with defaults.

    :param more: a further template argument behind the first one.
    """
    words = {"t": "typename", "v": "int"}
    arguments = [f"{words[kind]} P{place}" for place, kind in enumerate(V3_ARGUMENTS)]
    arguments[-5:] = (f"{one} = {0 if 'int' in one else 'int'}" for one in arguments[-5:])
    arguments[1:1] = [more] if more else []
    return f"template <{', '.join(arguments)}> struct {V3} {{}};"


def test_what_sources_are_compiled_with(profiler, recipe):
    (instance, *_) = (one.instance for one in chosen(profiler, LIST, "old-ck"))
    root = recipe.include_dirs[0]
    header = root / module.old_classes()[instance.old_class].header
    advice = r"""2025-11 with --ck-root.*--exclude 'old_class == "forward_v3"'"""
    for text, message in (
        (None, rf"no ck/\S+v3.hpp, which declares {V3}; "),
        ("struct Another {};", f"no template {V3} in this header"),
        (v3_header("int Q"), "has a template argument Q where lines have layout_input; "),
        (v3_header("int Q = 0"), "has a template argument Q where lines have layout_input; "),
    ):
        if text is not None:
            header.parent.mkdir(parents=True, exist_ok=True)
            header.write_text(text)
        with pytest.raises(ToolchainError, match=f"{message}.*{advice}"):
            OldCkFamily().compilation([instance], recipe)
    header.write_text(v3_header())
    found = OldCkFamily().compilation([instance, SimpleNamespace()], recipe)
    assert found.kernel_flags == ("-DCK_USE_XDL", "-DCK_USE_GFX94", "-DCK_USE_FNUZ_FP8", "-DCKPROF_OLD_HIP")
    assert root.parent / "library" / "include" in found.include_dirs
    assert {root / "ck", module.CONFIG_DIR, module.INCLUDE_DIR} < set(found.digested_dirs)
    assert (found.prefix_header, found.functions_per_unit) == ("", 1)
    assert OldCkFamily().compilation([instance], recipe).functions_per_unit > 1
    # of an architecture for which nothing is valid
    other = OldCkFamily().compilation([], replace(recipe, arch="gfx1100"))
    assert other.kernel_flags == ("-DCK_USE_XDL", "-DCKPROF_OLD_HIP")


def test_large_tiles_of_v3_cost_twice_as_much_as_others(profiler):
    large = ("_128x128x", "_128x256x", "_256x128x", "_224x256x", "_256x224x", "_256x256x")
    found = {}
    for one in chosen(profiler, LIST, "old-ck"):
        cost = one.pipeline.render(one.instance, "gfx942", "2025-11").device_functions
        is_v3 = one.instance.old_class == "forward_v3"
        found.setdefault((is_v3, any(tile in one.name for tile in large)), set()).add(cost)
    small, twice = found[True, False], found[True, True]
    assert found[False, False] == found[False, True] == small
    assert len(small) == 1 and twice == {2 * cost for cost in small}


def test_one_of_two_kernels_of_one_name_gets_another(profiler):
    name = "kernel_batched_gemm_xdlops_bwd_weight"
    for conf, renames in (("bilinear/tests/ndhwgc_fp16", 1), ("tests/ndhwgc_fp16", 0)):
        kernels = chosen(profiler, f"backward_weight/{conf}", "old-ck")
        for one in (one for one in kernels if one.instance.old_class != "backward_weight_v3"):
            header = one.pipeline.render(one.instance, "gfx942", "2025-11").header
            assert header.count(f"#define {name} {name}_multiple_d") == renames
            assert header.count(f"#undef {name}") == renames


def test_kernels_that_are_only_asked_have_a_device_of_their_own(recipe):
    sources = (Path("no_device.cpp"), Path("target.cpp"))
    asked = replace(recipe, compile_flags=("-DCKPROF_SUPPORT_ONLY",), support_sources=sources)
    found = OldCkFamily().compilation([], asked)
    assert [one.name for one in found.support_sources] == ["target.cpp", "device.cpp"]
    assert '-DCKPROF_OLD_CK_ARCH="gfx942"' in found.compile_flags
    assert all(one.is_file() for one in found.support_sources[1:])


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"target": "cpu"}, UsageError, "use --target hip, not cpu"),
        ({"include_dirs": ()}, ToolchainError, "no old library there.*fetch 2025-11' fetches"),
    ],
)
def test_what_cannot_be_compiled(recipe, tmp_path, changed, error, message):
    if "include_dirs" in changed:
        changed = {"include_dirs": (tmp_path,)}
    with pytest.raises(error, match=message):
        OldCkFamily().compilation([], replace(recipe, **changed))


def test_others_read_what_nobody_asks_the_family_for(registry):
    reader, reading = registry.converters.find("ck_old"), ListReading()
    request = list_request(find_list(LIST), reading)
    assert not reader.recognises(request)
    assert reader.plan_tree(conf_root() / "forward" / "tests", reading) is None
    assert reader.explain("", request, 1) is None
    assert reader.explain("", replace(request, library="old-ck"), 1).direction == "fwd"


def test_a_list_of_another_direction(ckprof):
    asked = ("--conf", "backward_data/tests/nhwgc_fp16", "--family", "old-ck", "--dry-run")
    called = ckprof("run", "fwd", *asked)
    assert called.code == 3 and "is of direction bwd_data, expected fwd" in called.err
