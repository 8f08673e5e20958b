"""Generated depthwise kernels against scipy, over random sizes, in all types."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ckprof.measure.verify.storage import decode, encode
from ckprof.model.catalog import Catalog
from ckprof.model.types import SHARED_TYPES
from ckprof_plugins.directions._convolution.layout import find_layout, tensor_shape
from ckprof_plugins.directions._convolution.problem import ConvProblem
from ckprof_plugins.pipelines.depthwise_family import SIZES, VARIANT, DepthwiseInstance, DepthwisePipeline
from tests.e2e.generated_kernels import ROUNDING, build_kernels, run_kernel

pytestmark = [pytest.mark.compiler, pytest.mark.thorough]

#: tile, filter, strides, pads, images per block, sub-tile, vectors: as a list has them
CONFIGURATIONS = (
    (8, 8, 3, 1, 1, 1, 1, 8, 2, 2, 2, 2),
    (16, 16, 3, 2, 2, 1, 1, 2, 1, 4, 8, 8),
    (8, 8, 5, 1, 1, 2, 2, 1, 1, 1, 1, 1),
)


def make(sizes, dtype):
    layout = find_layout("ngchw")
    assert layout is not None
    catalog = Catalog(variant=VARIANT, ndim=2, layout=layout, dtype=dtype, records=())
    record = SimpleNamespace(id=1, **dict(zip(SIZES, sizes, strict=True)))
    return DepthwisePipeline().make_instance(catalog, "fwd", record)


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    instances = [make(sizes, dtype) for sizes in CONFIGURATIONS for dtype in SHARED_TYPES]
    return build_kernels(tmp_path_factory.mktemp("depthwise"), "fwd", instances)


def by_scipy(problem, image, weight):
    """``image`` is (n, g, 1, h, w), ``weight`` (g, 1, 1, y, x)."""
    pads = list(zip(problem.left_pads, problem.right_pads, strict=True))
    padded = np.pad(image, [(0, 0)] * 3 + pads)
    steps = tuple(slice(None, None, stride) for stride in problem.strides)
    result = np.zeros((problem.batch, problem.groups, 1, *problem.output))
    for n in range(problem.batch):
        for g in range(problem.groups):
            full = scipy.signal.correlate(padded[n, g, 0], weight[g, 0, 0], mode="valid", method="direct")
            result[n, g, 0] = full[steps]
    return result


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    groups=st.integers(1, 5),
    batches=st.integers(1, 2),
    lengths=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    more_right=st.tuples(st.integers(0, 2), st.integers(0, 2)),
    seed=st.integers(0, 2**16),
)
def test_kernels_agree_with_scipy(kernels, groups, batches, lengths, more_right, seed):
    for instance, kernel in kernels:
        assert isinstance(instance, DepthwiseInstance)
        pads = (instance.pad_h, instance.pad_w)
        limit = instance.tile_h - max(more_right) if instance.tiles_per_wave > 1 else max(lengths)
        problem = ConvProblem(
            groups=groups,
            batch=batches * instance.nbatch,
            out_channels=1,
            in_channels=1,
            filter=(instance.filt,) * 2,
            input=tuple(min(length, limit) for length in lengths),
            strides=(instance.str_h, instance.str_w),
            dilations=(1, 1),
            left_pads=pads,
            right_pads=tuple(pad + more for pad, more in zip(pads, more_right, strict=True)),
        )
        draw = np.random.default_rng(seed)
        dtype = instance.dtype
        stored = {
            name: encode(draw.uniform(-1, 1, tensor_shape(problem, instance.layout, name)), dtype)
            for name in ("input", "weight", "output")
        }
        image, weight = (decode(stored[name], dtype).astype(float) for name in ("input", "weight"))
        expected = by_scipy(problem, image, weight)
        magnitude = by_scipy(problem, np.abs(image), np.abs(weight))
        bound = ROUNDING[dtype] * np.abs(expected) + instance.filt**2 * 2.0**-23 * magnitude + 2.0**-25
        got = run_kernel(kernel, problem, stored, "output", dtype)
        assert got is not None, (instance, problem)
        worst = np.max(np.abs(got - expected) - bound)
        assert worst <= 0, (instance, problem, worst)


@pytest.mark.parametrize(
    ("change", "condition", "words"),
    [
        ({"in_channels": 2}, "channels", "C = 2, the kernel is for 1"),
        ({"out_channels": 3}, "channels", "K = 3, the kernel is for 1"),
        ({"filter": (5, 5)}, "filter", "filter height = 5, the kernel is for 3"),
        ({"strides": (2, 2)}, "stride", "stride height = 2, the kernel is for 1"),
        ({"dilations": (2, 2)}, "dilation", "dilation height = 2, the kernel is for 1"),
        ({"left_pads": (0, 1)}, "pad", "left pad height = 0, the kernel is for 1"),
        ({"batch": 12}, "batch", "N = 12 is not a multiple of the 8 images per block"),
        ({"input": (9, 8)}, "single-tile", "output 9x8 exceeds the single tile 8x8"),
    ],
)
def test_what_a_kernel_is_not_made_for(kernels, change, condition, words):
    from ckprof.measure.worker.abi import AbiStatus, CProblem

    instance, kernel = kernels[0]
    fields = {
        **{"groups": 3, "batch": 8, "out_channels": 1, "in_channels": 1, "filter": (3, 3), "input": (8, 8)},
        **{"strides": (1, 1), "dilations": (1, 1), "left_pads": (1, 1), "right_pads": (1, 1)},
    }
    assert kernel.is_supported(CProblem.of(ConvProblem(**fields), 1)).status is AbiStatus.OK, instance
    support = kernel.is_supported(CProblem.of(ConvProblem(**{**fields, **change}), 1))
    assert support.status is AbiStatus.REJECTED
    assert (support.unmet_requirements[0].rule, support.unmet_requirements[0].message) == (condition, words)
