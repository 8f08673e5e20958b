"""Building generated kernels and running them on fenced memory, without the run layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from ckprof.errors import InputError
from ckprof.kernels.build_dir import BuildDir
from ckprof.kernels.builder import build_tree
from ckprof.kernels.cache import ObjectCache
from ckprof.kernels.source_tree import generate_tree
from ckprof.measure.verify.storage import decode
from ckprof.measure.worker.abi import AbiStatus, CBuffers, CProblem, Kernel, Library
from ckprof.model.instance import Instance
from ckprof.model.recipe import BuildRequest
from ckprof.model.types import DataType
from ckprof.paths import object_cache_dir
from ckprof.plugin.manager import PluginManager
from ckprof.plugin.registry import Registry
from ckprof_plugins.directions._convolution.layout import TENSORS, tensor_shape
from ckprof_plugins.directions._convolution.problem import ConvProblem
from tests.candidates import candidates_of

#: relative error of one rounding; CK Tile truncates to bf16
ROUNDING = {DataType.FP32: 2.0**-24, DataType.FP16: 2.0**-11, DataType.BF16: 2.0**-7}

#: elements before and after each tensor that a kernel must not touch
FENCE = 64

Built = Sequence[tuple[Instance, Kernel]]


def build_kernels(root, direction, instances):
    """Build the instances of one direction for the default device; check each kernel's own text."""
    manager = PluginManager()
    manager.load_all()
    registry = Registry(manager)
    target = next(t for t in registry.targets if t.embedded)
    recipe = target.recipe(BuildRequest(arch=target.default_arch))
    pipelines = registry.pipelines.as_mapping()
    tree = generate_tree(
        BuildDir(
            root=root, direction=registry.operation(direction), target=None, arch=recipe.arch, recipe=recipe
        ),
        candidates_of(instances, pipelines),
    )
    result = build_tree(tree, recipe, work_dir=root, cache=ObjectCache(object_cache_dir()), timeout_s=1000)
    assert not result.failures and result.library is not None, result.failures
    library = Library.load(result.library)
    library.target.select_device(recipe.arch, 0)
    built = [(instance, library.kernels[instance.key]) for instance in instances]
    for instance, kernel in built:
        text = pipelines[instance.pipeline].instance_string(instance)
        assert kernel.instance_string() == (AbiStatus.OK, text)
    return built


@dataclass
class Fenced:
    """A tensor between two fences."""

    memory: NDArray[Any]
    before: bytes

    @classmethod
    def of(cls, values):
        """Copy stored values into fenced memory."""
        size = values.itemsize
        memory = np.full(values.size + 2 * FENCE, 0x7F, dtype=np.uint8).repeat(size).view(values.dtype)
        memory[FENCE:-FENCE] = values.reshape(-1)
        return cls(memory, memory.tobytes())

    @property
    def values(self):
        """The tensor itself."""
        return self.memory[FENCE:-FENCE]

    def unchanged(self):
        """Say whether neither the tensor nor its fences were written."""
        return self.memory.tobytes() == self.before

    def fences_hold(self):
        """Say whether the fences were not written."""
        size = FENCE * self.memory.itemsize
        after = self.memory.tobytes()
        return after[:size] == self.before[:size] and after[-size:] == self.before[-size:]


def run_kernel(kernel, problem, stored, result, dtype, split_k=1):
    """Run once on poisoned memory; return the result in memory order, or ``None`` if it is rejected.

    Checks that nothing is written outside the result, and that a rejection has a reason.

    :param stored: values of all three tensors; those of the result give its shape only.
    """
    support = kernel.is_supported(CProblem.of(problem, split_k))
    if support.status is not AbiStatus.OK:
        assert support.status is AbiStatus.REJECTED
        assert support.unmet_requirements and all(
            one.rule and one.message for one in support.unmet_requirements
        )
        return None
    poison = np.full(stored[result].nbytes, 0xFF, dtype=np.uint8).view(stored[result].dtype)
    tensors = {name: Fenced.of(poison if name == result else values) for name, values in stored.items()}
    buffers = CBuffers.of(*(tensors[name].values.ctypes.data for name in TENSORS))
    status, reason, time_ms = kernel.run(CProblem.of(problem, support.split_k), buffers)
    assert status is AbiStatus.OK, reason
    assert time_ms > 0
    for name, tensor in tensors.items():
        assert tensor.fences_hold() if name == result else tensor.unchanged(), (kernel.name, problem, name)
    return decode(tensors[result].values, dtype).astype(float).reshape(stored[result].shape)


def random_tensors(direction, problem, layout, draw):
    """Return values of fp32 for each tensor, of a normal distribution."""
    shapes = {name: tensor_shape(problem, layout, name) for name in direction.tensors}
    return {name: draw.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def expected_of(direction, problem, layout, stored):
    """Return what a direction's reference makes of operands, and a bound of what sums of fp32 differ by."""
    values = {name: stored[name].astype(np.float64) for name in direction.tensors[:-1]}
    magnitudes = {name: np.abs(value) for name, value in values.items()}
    expected, magnitude = (
        np.asarray(direction.reference(problem, layout, of)) for of in (values, magnitudes)
    )
    return expected, direction.reduction_length(problem) * 2.0**-23 * magnitude + 2.0**-25


def problems(ndim):
    """Draw problems with strides, dilations, asymmetric pads, odd channels, filters larger than the input."""

    def axis(least, most):
        return st.tuples(*[st.integers(least, most)] * ndim)

    def make(**fields):
        try:
            return ConvProblem(**fields)
        except InputError:
            return None  # the output would be empty

    return st.builds(
        make,
        groups=st.sampled_from((1, 2, 3, 4)),
        batch=st.integers(1, 3),
        out_channels=st.integers(1, 9),
        in_channels=st.sampled_from((1, 1, 2, 3, 5, 17)),
        filter=st.one_of(axis(1, 4), st.just((1,) * ndim), st.just((3,) * ndim)),
        input=axis(1, 7),
        strides=st.one_of(axis(1, 3), st.just((1,) * ndim)),
        dilations=axis(1, 2),
        left_pads=st.one_of(axis(0, 3), st.just((0,) * ndim)),
        right_pads=st.one_of(axis(0, 3), st.just((0,) * ndim)),
    )
