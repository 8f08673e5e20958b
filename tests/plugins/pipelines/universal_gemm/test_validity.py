"""Names and rules of matrix-product kernels."""

import json

import pytest

import ckprof
from ckprof.errors import InputError
from ckprof.lists.catalogs import render_catalog
from ckprof.model.catalog import Catalog
from ckprof_plugins.elementwise.operations import ElementwiseOp
from ckprof_plugins.operations.gemm.problem import GemmProblem, MultiDProblem
from ckprof_plugins.pipelines.universal_gemm.reading import VARIANT, UniversalGemmRecord
from tests.plugins.pipelines.universal_gemm.products import FAMILY, NEW, NOVEMBER, OLD, broken, make_product


def test_name_is_that_of_the_dispatcher():
    instance = make_product(tile=(128, 128, 32), pipeline="compv4")
    assert FAMILY.kernel_name(instance) == (
        "gemm_fp16_rcr_compv4_cshuffle_intrawave_False_False_False_False_128x128x32_2x2x1_32x32x16"
    )
    changed = make_product(
        "bf16", "crr", pads=(True, False, True), persistent=True, scheduler="interwave", pipeline="mem",
        epilogue="default", vector_size_a=4, vector_size_b=2, vector_size_c=1,
    )  # fmt: skip
    assert FAMILY.kernel_name(changed) == (
        "gemm_bf16_crr_mem_default_interwave_True_False_True_True_128x128x64_2x2x1_32x32x16_vec4_2_1"
    )


@pytest.mark.parametrize("count", [1, 2])
def test_names_with_d_tensors(count):
    instance = make_product(
        tile=(128, 128, 32), pipeline="compv4", elementwise_op="MultiDMultiply", num_d_tensors=count
    )
    assert FAMILY.kernel_name(instance) == (
        "gemm_fp16_rcrr_compv4_cshuffle_intrawave_False_False_False_False_128x128x32_2x2x1_32x32x16"
        f"_multid_MultiDMultiply_d{count}"
    )
    assert instance.fields()["elementwise_op"] == "MultiDMultiply"
    imposed = {f"vector_size_{letter}": 4 for letter in "abc"}
    assert FAMILY.kernel_name(
        make_product(elementwise_op="MultiDAdd", num_d_tensors=count, **imposed)
    ).endswith(f"_32x32x16_vec4_4_4_multid_MultiDAdd_d{count}")


def test_names_of_batched_kernels():
    # an inference: the dispatcher's generator has none
    assert FAMILY.kernel_name(make_product(batched=True)) == (
        "gemm_fp16_rcr_compv3_cshuffle_intrawave_False_False_False_False_128x128x64_2x2x1_32x32x16_batched"
    )


VARIANTS = [
    {},
    {"batched": True},
    *(
        {"elementwise_op": op, "num_d_tensors": count}
        for op in ("MultiDAdd", "MultiDMultiply")
        for count in (1, 2)
    ),
]


def test_variants_are_kernels_of_their_own():
    instances = [make_product(**variant) for variant in VARIANTS]
    assert len({one.key for one in instances}) == len({FAMILY.kernel_name(one) for one in instances}) == 6
    # what a kernel of one product is identified by has not grown
    assert len(make_product().identity()) == 18
    assert make_product().key == "75eb5ca9186829475f0942a1181f8f06"
    assert make_product(batched=False).key == make_product().key


@pytest.mark.parametrize("variant", VARIANTS)
def test_variants_are_read_back_from_a_catalog(variant, tmp_path):
    instance = make_product(**variant)
    names = UniversalGemmRecord.__struct_fields__
    fields = {**instance.fields(), "pipeline": instance.gemm_pipeline.value}
    for axis in "mnk":
        fields |= {
            f"warp_{axis}": fields[f"wave_grid_{axis}"],
            f"warp_tile_{axis}": fields[f"mma_tile_{axis}"],
        }
    record = UniversalGemmRecord(id=0, **{name: fields[name] for name in names[1:] if name in fields})
    catalog = Catalog(
        variant=VARIANT, ndim=0, layout=instance.layout, dtype=instance.dtype, records=(record,)
    )
    path = tmp_path / "one.json"
    path.write_text(render_catalog(catalog))
    assert ("batched" in json.loads(path.read_text())["instances"][0]) == ("batched" in variant)
    (candidate,) = ckprof.Profiler().instances(ckprof.InstanceQuery(directions="gemm", conf=path)).candidates
    assert candidate.instance == instance
    assert candidate.name == FAMILY.kernel_name(instance)


@pytest.mark.parametrize("level", [OLD, NEW])
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"batched": True}, []),
        ({"batched": True, "pipeline": "compv4", "tile": (128, 128, 32)}, ["batched"]),
        ({"batched": True, "persistent": True}, ["batched"]),
        ({"batched": True, "epilogue": "default"}, []),
        ({"elementwise_op": "MultiDAdd", "num_d_tensors": 2, "persistent": True}, []),
        ({"elementwise_op": "MultiDAdd", "num_d_tensors": 1, "epilogue": "default"}, ["multi-d"]),
        ({"elementwise_op": "MultiDAdd", "num_d_tensors": 1, "dtype": "int8"}, ["multi-d"]),
        ({"elementwise_op": "MultiDMultiply", "num_d_tensors": 1, "dtype": "fp8"}, []),
    ],
)
def test_rules_of_variants(changes, expected, level):
    assert broken(make_product(**changes), level) == expected


@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp8", "bf8", "int8"])
@pytest.mark.parametrize("layout", ["rcr", "rrr", "ccr", "crr"])
@pytest.mark.parametrize("level", [OLD, NEW])
def test_usual_kernel_is_valid(dtype, layout, level):
    assert broken(make_product(dtype, layout), level) == []


@pytest.mark.parametrize(
    ("changes", "old", "new"),
    [
        ({"pipeline": "compv5"}, ["api-level-feature"], []),
        ({"pipeline": "compv1", "scheduler": "interwave"}, ["api-level-feature"], []),
        ({"pipeline": "mem", "scheduler": "interwave"}, [], []),
        ({"scheduler": "interwave"}, ["api-level-feature", "scheduler"], ["scheduler"]),
        ({"pipeline": "compv6"}, ["api-level-feature", "gemm-pipeline"], ["gemm-pipeline"]),
        ({"pipeline": "compv4", "tile": (128, 128, 32), "persistent": True}, ["api-level-feature"], []),
        ({"pipeline": "mem", "persistent": True}, [], []),
        # a wave would compute seven tiles along m
        ({"tile": (224, 256, 64), "mma": (16, 16, 32)}, ["shuffle-repeat"], ["shuffle-repeat"]),
        ({"tile": (192, 128, 64)}, ["shuffle-repeat"], ["shuffle-repeat"]),
        ({"tile": (192, 128, 64), "epilogue": "default"}, [], []),
        ({"tile": (96, 128, 64)}, ["wave-divides-tile"], ["wave-divides-tile"]),
        ({"tile": (128, 136, 64), "waves": (2, 1, 1)}, ["tile-grain", "wave-divides-tile"],
         ["tile-grain", "wave-divides-tile"]),
        ({"waves": (1, 1, 8), "tile": (128, 128, 128)}, ["wave-grid"], ["wave-grid"]),
        ({"tile": (256, 256, 64), "pipeline": "compv4"}, ["lds-budget"], ["lds-budget"]),
        ({"vector_size_a": 3, "vector_size_b": 8, "vector_size_c": 8}, ["vector-size"], ["vector-size"]),
        ({"vector_size_a": 8, "vector_size_b": 16, "vector_size_c": 8}, ["vector-size"], ["vector-size"]),
    ],
)  # fmt: skip
def test_rules(changes, old, new):
    instance = make_product(**changes)
    assert (broken(instance, OLD), broken(instance, NEW)) == (old, new)


@pytest.mark.parametrize(
    ("layout", "tile", "operand"),
    [("rrr", (32, 16, 64), "64 x 16 elements of b"), ("ccr", (32, 64, 64), "64 x 32 elements of a")],
)
@pytest.mark.parametrize("level", [OLD, NOVEMBER])
def test_what_is_stored_for_transposed_reads_and_turned_in_registers_must_be_square(
    level, layout, tile, operand
):
    """Both waves of such kernels write the same elements of LDS, and the product is wrong."""
    shape = {"layout": layout, "waves": (2, 1, 1), "mma": (16, 16, 32)}
    compv1 = make_product(pipeline="compv1", tile=tile, **shape)
    (unmet,) = FAMILY.unmet_requirements(compv1, "gfx950", level)
    assert unmet.message == (
        f"API level {level} has no right compv1 for gemm on gfx950 with {operand}: it takes rows for columns "
        "in LDS (it has square tiles)"
    )
    assert not broken(compv1, level)
    assert not broken(make_product(pipeline="mem", tile=tile, **shape), level, "gfx950")
    square = make_product(pipeline="compv1", tile=(64, 64, 64), **shape)
    assert not broken(square, level, "gfx950")


@pytest.mark.parametrize("level", [OLD, NOVEMBER])
def test_integers_are_multiplied_wrongly_without_an_instruction(level):
    integers = make_product("int8")
    (unmet,) = FAMILY.unmet_requirements(integers, "gfx90a", level)
    assert unmet.rule == "api-level-feature" and "no right products of int8 on gfx90a" in unmet.message
    assert not broken(integers, level) and not broken(integers, NEW, "gfx90a")
    assert not broken(make_product("fp8"), level, "gfx90a")


def test_types_without_instructions():
    assert broken(make_product("fp32"), OLD)[0] == "api-level-feature"
    assert "mma-tile" in broken(make_product("int8", mma=(4, 64, 16)), NEW)
    assert "wave-size" in broken(make_product(), NEW, arch="gfx1201")


def test_unknown_level_and_values():
    assert broken(make_product(), "1999-01")[0] == "api-level"
    with pytest.raises(InputError, match="vector sizes are 4, 0, 0, expected all of them or none"):
        make_product(vector_size_a=4)
    with pytest.raises(InputError, match=r"Relu, which takes one operand .*unsupported-family"):
        make_product(elementwise_op="Relu", num_d_tensors=1)
    with pytest.raises(InputError, match="num_d_tensors is 1, but elementwise_op PassThrough uses none"):
        make_product(num_d_tensors=1)
    for count in (0, 3):
        with pytest.raises(InputError, match=f"num_d_tensors is {count}, expected 1 to 2"):
            make_product(elementwise_op="MultiDAdd", num_d_tensors=count)
    with pytest.raises(InputError, match=r"batches of products .*unsupported-family"):
        make_product(elementwise_op="MultiDAdd", num_d_tensors=1, batched=True)
    with pytest.raises(InputError, match="pipeline"):
        make_product(pipeline="preshufflev2")


def test_fields_have_the_names_of_the_library_interface():
    fields = make_product(pipeline="compv4", tile=(128, 128, 32)).fields()
    assert {fields[name] for name in ("tile_m", "tile_n")} == {128}
    assert (fields["wave_grid_k"], fields["mma_tile_k"], fields["persistent"]) == (1, 16, False)


def test_work_is_the_product():
    instance = make_product()
    work = FAMILY.work(instance, GemmProblem(m=3840, n=4096, k=2048), 2)
    assert work is not None
    assert (work.m, work.n, work.k, work.splits, work.waves) == (3840, 4096, 2048, 2, 4)
    assert work.tensor_bytes == 63_963_136
    batch = FAMILY.work(make_product(batched=True), GemmProblem(m=3840, n=4096, k=2048, batch=3), 1)
    assert batch is not None and (batch.batch, batch.tensor_bytes) == (3, 3 * 63_963_136)


def test_default_problems_are_what_the_kernels_compute():
    usual = GemmProblem(m=512, n=256, k=128)
    assert FAMILY.default_problem(make_product(), usual) == usual
    assert FAMILY.default_problem(make_product(batched=True), usual) == GemmProblem(
        m=512, n=256, k=128, batch=4
    )
    found = FAMILY.default_problem(make_product(elementwise_op="MultiDAdd", num_d_tensors=2), usual)
    assert found == MultiDProblem(
        m=512, n=256, k=128, elementwise_op=ElementwiseOp.MULTI_D_ADD, strides_d=(0, 0)
    )


@pytest.mark.parametrize("axes", ["k", "mn", "mnk"])
def test_default_problems_end_within_a_tile_along_the_axes_that_are_padded(axes):
    usual = GemmProblem(m=512, n=256, k=128)
    instance = make_product(**{f"pad_{axis}": axis in axes for axis in "mnk"})
    found = FAMILY.default_problem(instance, usual)
    for axis, tile in zip("mnk", instance.tile.sizes, strict=True):
        assert bool(getattr(found, axis) % tile) == (axis in axes)


@pytest.mark.parametrize(
    "changes",
    [
        {"pipeline": "compv4", "tile": (128, 128, 32), "persistent": True},
        {"pads": (True, False, True), "vector_size_a": 4, "vector_size_b": 2, "vector_size_c": 1},
        {"elementwise_op": "MultiDAdd", "num_d_tensors": 2},
        {"batched": True, "scheduler": "interwave", "pipeline": "mem", "epilogue": "default"},
    ],
)
def test_records_of_instances_describe_them(changes):
    instance = make_product(**changes)
    catalog = Catalog(
        variant="gemm",
        ndim=0,
        layout=instance.layout,
        dtype=instance.dtype,
        records=(FAMILY.record(instance),),
    )
    again = FAMILY.make_instance(catalog, "gemm", catalog.records[0])
    assert (again, again.key) == (instance, instance.key)
