"""Kernels for Inductor: the functions of ``ck4inductor``, ranked for the problem that torch chooses for."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from ckprof.errors import InputError
from ckprof_plugins.consumers._old_ck.support import support
from ckprof_plugins.consumers.inductor.library_lists import library_lists, listed_convolutions
from ckprof_plugins.consumers.inductor.operations import (
    TYPES,
    CKBatchedGemmOperation,
    CKGemmOperation,
    CKGroupedConvFwdOp,
)
from ckprof_plugins.consumers.inductor.ranking import Models, best_first
from ckprof_plugins.directions._convolution.problem import ConvProblem
from ckprof_plugins.operations.gemm.problem import GemmProblem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ckprof.model.problem import Problem
    from ckprof.model.types import DataType
    from ckprof.plugin.registry import Registry
    from ckprof_plugins.consumers.inductor.operations import InductorOperation

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
    groups, batch, out_channels, in_channels, *spatial = sizes
    filter_, input_, strides, dilations, left, right = (
        tuple(spatial[begin : begin + 2]) for begin in range(0, 12, 2)
    )
    problem = ConvProblem(
        groups=groups,
        batch=batch,
        out_channels=out_channels,
        in_channels=in_channels,
        filter=filter_,
        input=input_,
        strides=strides,
        dilations=dilations,
        left_pads=left,
        right_pads=right,
    )
    weight = [int(size) for size in template.input_nodes[1].get_layout().size]
    refusal = ""
    if groups * out_channels * in_channels * prod(filter_) != prod(weight):
        refusal = (
            f"torch tells kernels of {groups} groups of {out_channels} x {in_channels} channels, but the "
            f"weight is of {' x '.join(map(str, weight))}: a kernel would read beyond it"
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
    rocm_op = _pair_type(template)

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


def _pair_type(template: Any) -> Any:
    """Return torch's type of an operation with its number of splits."""
    import sys

    return sys.modules[type(template).__module__].InductorROCmOp


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
    :param arch: architecture that kernels are chosen for; empty: that of the models.
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
        self._models = Models.read(registry, models, arch)
        # read now, so that a mistake is told before torch compiles
        self._convolutions, _ = listed_convolutions(lists)
        self._choice: ContextVar[InductorChoice | None] = ContextVar("choice", default=None)
        #: what was warned of: operations and types without a model, classes without lists
        self._untrained: set[tuple[str, str]] = set()
        self._missing: set[str] = set()

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
        listed = self._convolutions
        choice = self._choice.get()
        if choice is None:
            return [one.operation for one in listed]
        of_type = [one for one in listed if TYPES.get(one.operation.a_element_dtype) is choice.dtype]

        def accepts(position: int, splits: int) -> bool:
            one = of_type[position]
            problem = cast("ConvProblem", choice.problem)
            verdict = support(one.kernel, problem, one.dtype, 1, self._models.arch)
            return not verdict.unmet and choice.accepts(one.operation, splits)

        return self._best(choice, [one.operation for one in of_type], accepts)

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
            if kind not in self._missing:
                self._missing.add(kind)
                _log.warning("no kernel of %s is offered: %s", kind, exc)
            return []
        operations = [cast("CKGemmOperation", one) for one in found]
        choice = self._choice.get()
        if choice is None:
            return operations
        of_type = [one for one in operations if TYPES.get(one.a_element_dtype) is choice.dtype]
        return self._best(choice, of_type, lambda position, splits: choice.accepts(of_type[position], splits))

    def _best(self, choice: InductorChoice, operations: Sequence[Any], accepts: Any) -> list[Any]:
        if choice.refusal:
            _log.warning("no kernel of Composable Kernel is offered: %s", choice.refusal)
            return []
        accepted = [
            (operation, counts)
            for position, operation in enumerate(operations)
            if (counts := [count for count in choice.splits(operation) if accepts(position, count)])
        ]
        if not accepted:
            return []
        self._say_untrained(choice)
        kept = [operation for operation, _ in accepted]
        selector = self._models.selector(
            choice.direction, choice.dtype, kept, [counts for _, counts in accepted]
        )
        best = best_first(selector, choice.problem, kept, most=choice.most)
        return [kept[position] for position in best]

    def _say_untrained(self, choice: InductorChoice) -> None:
        kind = choice.direction, choice.dtype.value
        if not self._models.trained(choice.direction, choice.dtype) and kind not in self._untrained:
            self._untrained.add(kind)
            _log.warning(
                "no time model of %s %s: kernels are ranked by their tiles alone; 'ckprof train' fits one",
                *kind,
            )
