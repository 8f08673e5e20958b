"""One record of every kernel family, and the family that must claim it."""

from types import SimpleNamespace

from ckprof.model.catalog import Catalog
from ckprof.model.types import DataType
from ckprof_plugins.directions._convolution.layout import find_layout
from ckprof_plugins.pipelines.depthwise_family import SIZES, VARIANT, DepthwisePipeline
from ckprof_plugins.pipelines.gemm_families import ImplicitGemmPipeline, StreamKPipeline, TwoStagePipeline

LEVEL = "2026-06"
ARCH = "gfx950"

FAMILIES = {
    family.id: family
    for family in (ImplicitGemmPipeline, TwoStagePipeline, StreamKPipeline, DepthwisePipeline)
}

TWO_STAGE = {"family": TwoStagePipeline, "direction": "bwd_weight", "two_stage": True}
STREAM_K = {
    **{"family": StreamKPipeline, "direction": "bwd_weight", "streamk_enabled": True},
    "streamk_reduction_strategy": "TREE",
}

#: (instance changes) of the golden headers besides those of the forward direction
GOLDEN = {
    "backward data": {"direction": "bwd_data", "dtype": "fp16"},
    "backward weight": {"direction": "bwd_weight", "layout": "ndhwgc", "num_groups_to_merge": 4},
    "two-stage": {**TWO_STAGE, "dtype": "fp16", "pipeline": "compv4", "double_smem_buffer": True},
    "stream-K tree": {**STREAM_K, "dtype": "fp32", "layout": "nwgc"},
    "stream-K linear": {
        **STREAM_K,
        **{"streamk_reduction_strategy": "LINEAR", "streamk_persistent": True},
        **{"pipeline": "mem", "scheduler": "interwave"},
    },
}

#: a listed configuration: tile, filter, strides, pads, images per block, sub-tile, vectors
DEPTHWISE_SIZES = (8, 8, 3, 1, 1, 1, 1, 8, 2, 2, 2, 2)


def depthwise(dtype="fp16", layout="ngchw", **changes):
    """Return a depthwise instance."""
    found = find_layout(layout)
    catalog = Catalog(variant=VARIANT, ndim=found.ndim, layout=found, dtype=DataType(dtype), records=())
    record = SimpleNamespace(id=1, **{**dict(zip(SIZES, DEPTHWISE_SIZES, strict=True)), **changes})
    return DepthwisePipeline().make_instance(catalog, "fwd", record)


def pipeline_of(instance):
    """Return the family of an instance."""
    return FAMILIES[instance.pipeline]()


def header(instance, arch=ARCH):
    """Return the header's text."""
    return pipeline_of(instance).render(instance, arch, LEVEL).header


def flat(text):
    """Return the text without comments and with all white space as single blanks."""
    return " ".join(" ".join(line.split("//")[0] for line in text.splitlines()).split())


def broken(instance, arch=ARCH):
    """Return the ids of the rules that an instance breaks."""
    return [rejection.rule for rejection in pipeline_of(instance).unmet_requirements(instance, arch, LEVEL)]
