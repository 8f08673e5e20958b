"""Lists and logs of the old library's plain matrix products."""

from collections import Counter
from pathlib import Path

import pytest

import ckprof
from ckprof.errors import CkprofError
from ckprof.model.types import DataType
from ckprof_plugins.pipelines.universal_gemm.instance import MultiDGemmInstance, UniversalGemmInstance
from tests.plugins.pipelines.universal_gemm.products import FAMILY

LISTS = Path(__file__).parents[4] / "conf" / "gemm" / "universal"


def line(spec, block, tile, wave_tile, wave_map, reads, scheduler, version, stages, layout="RCR"):
    return (
        f"DeviceGemmXdlUniversal<{spec}, {layout}> BlkSize: {block}, BlkTile: {tile}, WaveTile: {wave_tile}, "
        f"WaveMap: {wave_map}, VmemReadVec: {reads}, BlkGemmPipelineScheduler: {scheduler}, "
        f"BlkGemmPipelineVersion: {version}, BlkGemmPipelinePrefetchStages: {stages}"
    )


#: arguments of a line -> GEMM pipeline, scheduler, wave grid, MMA tile, padded axes
EXAMPLES = [
    (("Default", 256, "256x256x32", "32x32", "4x4", "8x8", "Intrawave", "v4", 4), "compv4 2x2x1 32x32x16 "),
    (("Default", 256, "128x128x64", "32x32", "2x2", "8x8", "Intrawave", "v4", 4), "compv4 2x2x1 32x32x16 "),
    (("Default", 256, "128x128x32", "32x32", "2x2", "8x8", "Intrawave", "v4", 4), "compv4 2x2x1 32x32x16 "),
    (("Default", 256, "256x256x32", "32x32", "4x4", "8x8", "Intrawave", "v3", 2), "compv3 2x2x1 32x32x16 "),
    (("Default", 256, "256x256x32", "16x16", "8x8", "8x8", "Intrawave", "v3", 2), "compv3 2x2x1 16x16x32 "),
    (("Default", 256, "224x256x64", "16x16", "7x8", "8x8", "Intrawave", "v3", 2), "compv3 2x2x1 16x16x32 "),
    (("Default", 256, "128x128x64", "32x32", "2x2", "8x8", "Intrawave", "v3", 2), "compv3 2x2x1 32x32x16 "),
    (("Default", 256, "128x128x64", "32x32", "2x2", "8x8", "Intrawave", "v5", 3), "compv5 2x2x1 32x32x16 "),
    (("Default", 256, "128x256x32", "32x32", "2x4", "8x8", "Interwave", "v1", 1), "compv1 2x2x1 32x32x16 "),
    (("KPadding", 256, "256x256x32", "32x32", "4x4", "4x4", "Intrawave", "v3", 2), "compv3 2x2x1 32x32x16 k"),
    (("Default", 256, "256x32x64", "32x32", "2x1", "8x8", "Interwave", "v2", 2), "mem 4x1x1 32x32x16 "),
    (("KPadding", 128, "32x16x64", "16x16", "1x1", "8x8", "Intrawave", "v1", 1), "compv1 2x1x1 16x16x32 k"),
    (("Default", 256, "32x256x64", "32x32", "1x2", "8x8", "Intrawave", "v2", 2), "mem 1x4x1 32x32x16 "),
    (
        ("MNPadding", 256, "256x256x32", "32x32", "4x4", "8x8", "Intrawave", "v3", 2, "RRR"),
        "compv3 2x2x1 32x32x16 mn",
    ),
    (
        ("MNKPadding", 256, "128x128x64", "32x32", "2x2", "8x8", "Intrawave", "v3", 2, "RRR"),
        "compv3 2x2x1 32x32x16 mnk",
    ),
    (
        ("KPadding", 256, "256x128x32", "32x32", "4x2", "8x4", "Interwave", "v1", 1, "RRR"),
        "compv1 2x2x1 32x32x16 k",
    ),
    (
        ("MNKPadding", 128, "32x16x64", "16x16", "1x1", "8x2", "Interwave", "v2", 3, "RRR"),
        "mem 2x1x1 16x16x32 mnk",
    ),
    (("Default", 128, "16x64x64", "16x16", "1x2", "8x8", "Intrawave", "v2", 2, "RRR"), "mem 1x2x1 16x16x32 "),
]


def instances_of(conversion):
    """Return the instances of the only catalog."""
    (catalog,) = conversion.catalogs
    return [FAMILY.make_instance(catalog, "gemm", record) for record in catalog.records]


@pytest.fixture
def read(tmp_path):
    def of(*lines, name="list_fp16.conf", **options):
        path = tmp_path / name
        path.write_text("\n".join(lines) + "\n")
        return ckprof.Profiler().read(path, reading=ckprof.ListReading(**options))

    return of


@pytest.mark.parametrize(
    ("name", "lines", "instances", "versions"),
    [
        ("rcr_fp16", 172, 106, {"v1": 38, "v2": 96, "v3": 18, "v4": 12, "v5": 8}),
        ("rrr_fp16", 224, 160, {"v1": 74, "v2": 114, "v3": 12, "v4": 16, "v5": 8}),
    ],
)
def test_the_shipped_lists(name, lines, instances, versions):
    texts = (LISTS / f"{name}.conf").read_text().splitlines()
    assert len(set(texts)) == len(texts) == lines
    assert Counter(text.split("Version: ")[1][:2] for text in texts) == versions
    found = ckprof.Profiler().read(f"gemm/universal/{name}")
    assert len(instances_of(found)) == instances
    assert {why.rule for why in found.dropped.values()} == {"duplicate"}
    assert len(found.dropped) == lines - instances


@pytest.mark.parametrize(("arguments", "expected"), EXAMPLES)
def test_fields(read, arguments, expected):
    (instance,) = instances_of(read(line(*arguments)))
    assert isinstance(instance, UniversalGemmInstance)
    pads = "".join(axis for axis, pad in zip("mnk", instance.pads, strict=True) if pad)
    got = f"{instance.gemm_pipeline.value} {instance.wave_grid} {instance.mma_tile} {pads}"
    assert got == expected
    assert instance.layout.name == (arguments[9] if len(arguments) > 9 else "RCR").lower()
    assert instance.scheduler.value == arguments[6].lower()
    assert str(instance.tile) == arguments[2]


def test_other_widths_and_depths_are_the_same_kernel(read):
    same = ("Default", 256, "128x128x32", "32x32", "2x2")
    found = read(line(*same, "8x8", "Intrawave", "v4", 4), line(*same, "2x2", "Intrawave", "v4", 4))
    assert len(instances_of(found)) == 1
    assert [(line, why.rule) for line, why in found.dropped.items()] == [(2, "duplicate")]
    assert [*found.lossy.items()] == [(2, "VmemReadVec 2x2, the kernel has 8x8")]
    found = read(line("Default", 256, "128x128x32", "32x32", "2x2", "8x8", "Intrawave", "v3", 5))
    assert [*found.lossy.values()] == ["BlkGemmPipelinePrefetchStages 5, the kernel has 2"]


@pytest.mark.parametrize(("dtype", "stages"), [("fp16", 3), ("fp8", 6)])
def test_the_depth_of_the_memory_bound_pipeline_depends_on_the_type(read, dtype, stages):
    same = ("Default", 128, "32x16x64", "16x16", "1x1", "8x8", "Intrawave", "v2")
    found = read(line(*same, stages), name=f"list_{dtype}.conf")
    assert not [what for what in found.lossy.values() if "PrefetchStages" in what]
    found = read(line(*same, stages + 1), name=f"list_{dtype}.conf")
    assert f"BlkGemmPipelinePrefetchStages {stages + 1}, the kernel has {stages}" in next(
        iter(found.lossy.values())
    )


def test_a_log_of_the_old_profiler(read):
    usual = line("Default", 256, "128x128x64", "32x32", "2x2", "8x8", "Intrawave", "v4", 4)
    other = line("KPadding", 256, "128x128x64", "32x32", "2x2", "8x8", "Intrawave", "v3", 2)
    found = read(
        "a_m_k: dim 2, lengths {3840, 2048}, strides {2048, 1}",
        f"Perf:   0.103 ms, 625.4 TFlops, 620.9 GB/s, {usual}, KBatch 1",
        f"Perf:   0.203 ms, 317.4 TFlops, 315.1 GB/s, {usual}, KBatch 4",
        f"{other} does not support this problem",
        f"Best Perf for datatype = f16: 0.103 ms, {usual}, KBatch 1",
        name="run_fp16.log",
        lenient=True,
    )
    assert [one.pads for one in instances_of(found)] == [(False,) * 3, (False, False, True)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (line("Default", 256, "128x128x64", "32x32", "2x2", "8x8", "Intrawave", "v4", 4, "RCC"), "RCC"),
        (line("Default", 128, "128x128x64", "32x32", "2x2", "8x8", "Intrawave", "v4", 4), "block size 128"),
        (line("Default", 256, "128x100x64", "32x32", "2x2", "8x8", "Intrawave", "v4", 4), "tile_n 100"),
        (line("Default", 256, "128x128x64", "32x32", "2x2", "8x8", "Intrawave", "v9", 4), "version"),
        (line("Default", 256, "128x128x64", "32x16", "2x2", "8x8", "Intrawave", "v4", 4), "square"),
        ("DeviceGemmXdlUniversal<Default, RCR> BlkSize: 256", "10 arguments, got 3"),
        (line("Maybe", 256, "128x128x64", "32x32", "2x2", "8x8", "Intrawave", "v4", 4), "padding"),
    ],
)
def test_wrong_lines(read, text, words):
    with pytest.raises(CkprofError) as caught:
        read(text)
    assert words in str(caught.value)


def test_a_type_is_needed(read):
    with pytest.raises(CkprofError, match="--dtype"):
        read(line(*EXAMPLES[0][0]), name="list.conf")


def test_the_oldest_kernels(read):
    text = (
        "DeviceGemm_Xdl_CShuffle<Default, 256, 256, 128, 32, 8, 8, 32, 32, 4, 2, 8, 8, 1, 1> "
        "LoopScheduler: Default, PipelineVersion: {}"
    )
    found = read(text.format("v1"), text.format("v2"), name="rcr_fp16.conf")
    (instance,) = instances_of(found)
    assert (instance.gemm_pipeline.value, str(instance.wave_grid)) == ("compv1", "2x2x1")
    assert [(line, why.rule) for line, why in found.dropped.items()] == [(2, "unsupported-family")]
    with pytest.raises(CkprofError, match="nhwgc"):
        read(text.format("v1"), name="nhwgc_fp16.conf")


def test_the_rule_set():
    found = ckprof.Profiler().instances(
        ckprof.InstanceQuery(directions="gemm", rule_set="gemm", dtypes=(DataType.FP16,), keep_invalid=True)
    )
    # the products, then their sums with one and with two D tensors
    assert len(found.candidates) == 3 * 4 * 256
    names = {one.name for one in found.candidates}
    assert len(names) == len(found.candidates)
    assert [one.instance.id for one in found.candidates] == list(range(3 * 4 * 256))
    with_d = [one.instance for one in found.candidates if isinstance(one.instance, MultiDGemmInstance)]
    assert with_d == [one.instance for one in found.candidates[4 * 256 :]]
    assert Counter(f"{one.elementwise_op.value} {one.num_d_tensors}" for one in with_d) == {
        "MultiDAdd 1": 4 * 256,
        "MultiDAdd 2": 4 * 256,
    }
    assert "gemm_fp16_rcr_compv4_cshuffle_intrawave_False_False_False_True_128x128x32_2x2x1_16x16x16" in names


def test_types_of_other_operations_are_refused(tmp_path):
    path = tmp_path / "nhwgc_fp8.conf"
    path.write_text(
        "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle<64, 64, 64, 32, Default, 32, 32, 2, 2, 1, 1, 1, 1, 1>\n"
    )
    with pytest.raises(CkprofError, match=r"one of the data types .*, the file name says fp8"):
        ckprof.Profiler().read(path)
