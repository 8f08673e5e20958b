"""Kernels for Inductor: the functions of ``ck4inductor``, ranked for the problem that torch chooses for."""

from __future__ import annotations

import logging
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from ckprof.errors import InputError
from ckprof.model.architecture import architectures
from ckprof.model.conversion import ListReading
from ckprof_converters.derivation import DIRECT_PIPELINES, mma_k, waves
from ckprof_converters.derivation import PIPELINES as CONVOLUTION_PIPELINES
from ckprof_plugins.consumers._old_ck.support import support
from ckprof_plugins.consumers.audit import kernel_lists
from ckprof_plugins.consumers.inductor.lists import convolutions_of, library_lists
from ckprof_plugins.consumers.inductor.operations import (
    TYPES,
    CKBatchedGemmOperation,
    CKGemmOperation,
    CKGroupedConvFwdOp,
)
from ckprof_plugins.directions._convolution.convolution import SIZE_NAMES
from ckprof_plugins.directions._convolution.problem import ConvProblem
from ckprof_plugins.operations.gemm.problem import GemmProblem
from ckprof_plugins.pipelines.kernel_name import gemm_traits
from ckprof_plugins.pipelines.universal_gemm.conf_families import PIPELINES as PRODUCT_PIPELINES
from ckprof_plugins.tuning.model_use import gemm_sizes_of, load_model
from ckprof_plugins.tuning.search.prior import physical_model
from ckprof_plugins.tuning.time_model.selector import Selector

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ckprof.model.gemm_work import KernelTraits
    from ckprof.model.problem import Problem
    from ckprof.model.types import DataType
    from ckprof.plugin.registry import Registry
    from ckprof_plugins.consumers.inductor.operations import InductorOperation
    from ckprof_plugins.tuning.time_model.model import TimeModel


def best_first(
    registry: Registry,
    model: TimeModel | None,
    arch: str,
    choice: InductorChoice,
    operations: Sequence[InductorOperation],
    splits: Sequence[Sequence[int]],
) -> list[int]:
    """Return positions of operations by their predicted times, no more than are wanted.

    Of operations with one tile and one pipeline the first comes in its place and the others after the rest:
    models hardly tell them apart, and measuring several of them tells little. An operation counts once for
    each of its numbers of splits.

    :param model: ``None``: times follow from the sizes of tiles and the device alone.
    :param splits: per operation the numbers of splits that it may have.
    """
    dtype = choice.dtype
    if model is None:
        known = architectures().get(arch)
        model = physical_model(known.compute_units if known else 0, dtype.properties.size_bytes)
    described = enumerate(map(_description, operations))
    traits = {f"{number:06d}": _traits(description, dtype) for number, description in described}
    choices = [(name, count) for name, counts in zip(traits, splits, strict=True) for count in counts]
    sizes = gemm_sizes_of(registry, choice.direction, dtype.value)
    ranked = Selector(model, traits, sizes, choices=choices).rank(choice.problem)
    counts = Counter(int(prediction.kernel) for prediction in ranked)
    leaders: dict[tuple[object, ...], int] = {}
    for position in counts:
        one = operations[position]
        tile = one.m_per_block, one.n_per_block, one.k_per_block
        leaders.setdefault((*tile, one.block_gemm_pipeline_version), position)
    firsts = set(leaders.values())
    ordered = [*(one for one in counts if one in firsts), *(one for one in counts if one not in firsts)]
    chosen: list[int] = []
    total = 0
    for position in ordered:
        total += counts[position]
        if choice.most is not None and chosen and total > choice.most:
            break
        chosen.append(position)
    return chosen


@cache
def _traits(description: tuple[tuple[str, Any], ...], dtype: DataType) -> KernelTraits:
    """Return what the time of an operation depends on."""
    values = dict(description)
    properties = ListReading(dtype=dtype, mma_k_table=(8, 16))
    waves(values, properties)
    mma_k(values, properties)
    for axis in "mnk":
        values[f"wave_grid_{axis}"] = values[f"warp_{axis}"]
        values[f"mma_tile_{axis}"] = values[f"warp_tile_{axis}"]
    return gemm_traits(values)


def _description(operation: InductorOperation) -> tuple[tuple[str, Any], ...]:
    """Return the fields of an instance that traits depend on, and what they are derived from."""
    version = operation.block_gemm_pipeline_version.rpartition("::")[2]
    pipelines: Mapping[str, str] = PRODUCT_PIPELINES
    if isinstance(operation, CKGroupedConvFwdOp):
        pipelines = DIRECT_PIPELINES if operation.direct_load else CONVOLUTION_PIPELINES
        result_width: Any = operation.cde_block_transfer_scalar_per_vector_n_per_block
        k1, label = operation.ak1, operation.conv_forward_specialization
    else:
        result_width = operation.c_shuffle_block_transfer_scalar_per_vector_n_per_block
        k1, label = operation.a_k1, operation.gemm_specialization
    return (
        ("tile_m", operation.m_per_block),
        ("tile_n", operation.n_per_block),
        ("tile_k", operation.k_per_block),
        ("block_size", operation.block_size),
        ("mma_m", operation.m_per_xdl),
        ("mma_n", operation.n_per_xdl),
        ("repeat_m", operation.m_xdl_per_wave),
        ("repeat_n", operation.n_xdl_per_wave),
        ("k1", k1),
        ("gemm_pipeline", pipelines[version]),
        ("double_smem_buffer", version == "v4"),
        ("vector_size_a", operation.a_block_transfer_src_scalar_per_vector),
        ("vector_size_b", operation.b_block_transfer_src_scalar_per_vector),
        ("vector_size_c", result_width[0] if isinstance(result_width, tuple) else result_width),
        ("scheduler", operation.block_gemm_pipeline_scheduler.rpartition("::")[2].lower()),
        ("specialization", label.rpartition("::")[2].lower()),
    )


Op = TypeVar("Op", CKGroupedConvFwdOp, CKGemmOperation)

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class InductorChoice:
    """One operation of a program for which kernels are compiled and measured."""

    #: id of the operation
    direction: str
    dtype: DataType
    problem: Problem
    #: kernels that torch would compile at most; ``None``: all
    most: int | None
    #: numbers of splits that torch launches a kernel with
    splits: Callable[[InductorOperation], Sequence[int]]
    #: says whether torch takes a kernel with a number of splits
    accepts: Callable[[InductorOperation, int], bool]
    #: why no kernel may run; empty if some may
    refusal: str = ""


def choice_of(template: Any, config: Any) -> InductorChoice | None:
    """Return what a template chooses for; ``None`` where its sizes or types are not known.

    :param template: a ``CKGroupedConvFwdTemplate`` or a ``CKGemmTemplate``.
    :param config: ``torch._inductor.config``.
    """
    try:
        sizes = [int(size) for size in template.size_args()]
        first = template.input_nodes[0].get_layout()
        dtype = TYPES[template._TORCH_DTYPE_TO_CK[first.dtype]]
        of = _convolution if hasattr(template, "n_spatial_dimensions") else _product
        return of(template, sizes, dtype, config.rocm.ck_max_profiling_configs)
    except (TypeError, ValueError, KeyError, InputError) as exc:
        # sizes that are symbols, types without kernels
        _log.info("kernels are offered in the order of their lists: %s", exc)
        return None


def _convolution(template: Any, sizes: Sequence[int], dtype: DataType, most: int | None) -> InductorChoice:
    along_axes = (tuple(sizes[begin : begin + 2]) for begin in range(4, 16, 2))
    values: dict[str, Any] = dict(zip(SIZE_NAMES, (*sizes[:4], *along_axes), strict=True))
    problem = ConvProblem(**values)
    weight = [int(size) for size in template.input_nodes[1].get_layout().size]
    refusal = ""
    if problem.groups * problem.out_channels * problem.in_channels * prod(problem.filter) != prod(weight):
        refusal = (
            f"torch distinguishes kernels of {problem.groups} groups of {problem.out_channels} x "
            f"{problem.in_channels} channels, but the weight is of {' x '.join(map(str, weight))}: a kernel "
            "would read beyond it"
        )
    return InductorChoice(
        direction="fwd",
        dtype=dtype,
        problem=problem,
        most=most,
        splits=lambda _: (1,),
        accepts=lambda operation, _: template.filter_op(operation) is not None,
        refusal=refusal,
    )


def _product(template: Any, sizes: Sequence[int], dtype: DataType, most: int | None) -> InductorChoice:
    batch, (m, n, k) = (sizes[0], sizes[1:4]) if template.is_batched else (1, sizes[:3])
    # torch's type of an operation with its number of splits
    rocm_op = sys.modules[type(template).__module__].InductorROCmOp

    def accepts(operation: InductorOperation, splits: int) -> bool:
        return template.filter_op(rocm_op(op=operation, kBatch=splits)) is not None

    return InductorChoice(
        direction="gemm",
        dtype=dtype,
        problem=GemmProblem(m=m, n=n, k=k, batch=batch),
        most=most,
        splits=template._get_kBatch,
        accepts=accepts,
    )


_PRODUCT: Final = "DeviceGemm_Xdl_CShuffleV3"
_BATCHED: Final = "DeviceBatchedGemmMultiD_Xdl_CShuffle_V3"


class Provider:
    """What ``ck4inductor`` offers, from lists of real kernels.

    Without a choice (:meth:`choosing`), all kernels are returned in the order of their lists. With one, those
    that support its problem, by predicted times, and no more than torch compiles.

    :param models: files of ``ckprof train``, one per operation and type.
    :param lists: lists of forward convolutions: files, folders as ``ckprof extract`` writes them, or names of
        lists that ship with ckprof.
    :param headers: root of a source tree of Composable Kernel, or the folder of AMD's ``ck4inductor``, with
        ``include`` and ``library``: there torch's compiler finds its headers, and products their lists.
    :param arch: architecture that kernels are chosen for; empty: that of the first model.
    :raises InputError: a model or a list cannot be read.
    """

    def __init__(
        self,
        registry: Registry,
        *,
        headers: Path,
        models: Sequence[Path] = (),
        lists: Sequence[str] = ("forward/profiler",),
        arch: str = "",
    ) -> None:
        self.headers = headers
        self._registry = registry
        self._arch = arch
        self._models: dict[tuple[str, str], TimeModel] = {}
        for path in models:
            model = load_model(path)
            self._arch = self._arch or model.device
            if model.device not in ("", self._arch):
                raise InputError(
                    f"the model is of {model.device}, kernels are chosen for {self._arch}; train one there",
                    path,
                )
            self._models[model.direction, model.dtype] = model
        # read now, so that a mistake is told before torch compiles
        self._convolutions, _ = convolutions_of(kernel_lists(lists))
        self._choice: ContextVar[InductorChoice | None] = ContextVar("choice", default=None)
        #: operations and types without a model, and classes without lists, that were warned of
        self._warned: set[object] = set()

    @contextmanager
    def choosing(self, choice: InductorChoice | None) -> Iterator[None]:
        """Have the functions return kernels for a choice, best first."""
        token = self._choice.set(choice)
        try:
            yield
        finally:
            self._choice.reset(token)

    def library_path(self) -> str:
        """Return the folder of the library's lists."""
        return str(self.headers / "library")

    def gen_conv_ops_library(self) -> list[CKGroupedConvFwdOp]:
        """Return forward convolutions."""
        choice = self._choice.get()
        if choice is None:
            return [operation for operation, _, _ in self._convolutions]
        problem = cast("ConvProblem", choice.problem)
        supported = [
            operation
            for operation, kernel, dtype in self._convolutions
            if TYPES.get(operation.a_element_dtype) is choice.dtype
            and not support(kernel, problem, dtype, 1, self._arch).unmet
        ]
        return self._best(choice, supported)

    def gen_ops_library(self) -> list[CKGemmOperation]:
        """Return plain matrix products."""
        return self._products(_PRODUCT)

    def gen_ops_preselected(self) -> list[CKGemmOperation]:
        """Return plain products of fp16 with A in rows and B in columns, for which torch asks so.

        The original has a fixed list of few; here the ranking selects.
        """
        return [
            one
            for one in self._products(_PRODUCT)
            if (one.a_element_dtype, one.b_element_dtype, one.c_element_dtype) == ("F16",) * 3
            and (one.a_layout, one.b_layout, one.c_layout) == ("Row", "Col", "Row")
        ]

    def gen_batched_ops_library(self) -> list[CKBatchedGemmOperation]:
        """Return batches of matrix products."""
        return cast("list[CKBatchedGemmOperation]", self._products(_BATCHED))

    def _products(self, kind: str) -> list[CKGemmOperation]:
        try:
            found, _ = library_lists(Path(self.library_path()), kind)
        except InputError as exc:
            # an installation has no sources; convolutions can do without
            if kind not in self._warned:
                self._warned.add(kind)
                _log.warning("no kernel of %s is offered: %s", kind, exc)
            return []
        operations = [cast("CKGemmOperation", one) for one in found]
        choice = self._choice.get()
        if choice is None:
            return operations
        return self._best(
            choice, [one for one in operations if TYPES.get(one.a_element_dtype) is choice.dtype]
        )

    def _best(self, choice: InductorChoice, operations: Sequence[Op]) -> list[Op]:
        if choice.refusal:
            _log.warning("no kernel of Composable Kernel is offered: %s", choice.refusal)
            return []
        accepted = [
            (operation, counts)
            for operation in operations
            if (counts := [count for count in choice.splits(operation) if choice.accepts(operation, count)])
        ]
        if not accepted:
            return []
        place = (choice.direction, choice.dtype.value)
        model = self._models.get(place)
        if model is None and place not in self._warned:
            self._warned.add(place)
            _log.warning(
                "no time model of %s %s: kernels are ranked by their tiles alone; 'ckprof train' fits one",
                *place,
            )
        kept = [operation for operation, _ in accepted]
        splits = [counts for _, counts in accepted]
        best = best_first(self._registry, model, self._arch, choice, kept, splits)
        return [kept[position] for position in best]
