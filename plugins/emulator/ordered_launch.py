"""What the process does in which kernels run in several orders of their workgroups and waves.

Sums of exact operands are the same in every order, so that results have to be so as well, to the bit. On
usual operands, kernels that add up by atomics round in the order in which workgroups come: theirs may differ
by what two right results can; those of all others may not.
"""

from __future__ import annotations

import ctypes
import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ckprof.measure.verify.exact import ExactKind
from ckprof.measure.verify.operands import InitKind, OperandValues, make_operand
from ckprof.measure.verify.storage import decode, storage_type
from ckprof.measure.verify.tolerance import Sums, derive_tolerance
from ckprof.measure.worker.abi import CBuffers, CProblem
from ckprof.measure.worker.guards import POISON_BYTE
from ckprof.measure.worker.messages import AbiStatus
from ckprof.model.types import types_on
from ckprof.plugin.members import offers
from ckprof.plugin.protocols import Operation
from ckprof_plugins.emulator.emulated_library import opened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from ckprof.measure.kernel_library import LibraryKernel
    from ckprof.model.problem import Problem
    from ckprof.model.tensor import TensorSpec
    from ckprof.model.types import TypeSet
    from ckprof_plugins.emulator.emulated_library import OpenedLibrary

#: seconds after which a problem's further orders are left out
_MOST_S: Final = 10.0
#: orders that are drawn
_DRAWN: Final = 2
#: of a product of decimals, which are from 0 to 1 and from -0.5 to 0.5
_PRODUCT_VARIANCE: Final = 1 / 36


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderedRun:
    """What a kernel did in several orders."""

    #: what is wrong, in a sentence; empty if nothing is
    found: str = ""
    #: why nothing was compared
    unsupported: str = ""
    #: launches whose results were compared with those of the first order
    compared: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Order:
    name: str
    reverse: bool = False
    seed: int = 0


def run_orders(key: str, problem: Problem, split_k: int, seed: int) -> OrderedRun:
    """Run a kernel of the library, see :meth:`ckprof_plugins.emulator.orders.Orders.run`."""
    library = opened()
    support = library.library.kernels[key].is_supported(CProblem.of(problem, split_k))
    if support.unmet_requirements:
        return OrderedRun(unsupported=support.unmet_requirements[0].message)
    kernel = library.kernels[key]
    specs = tuple(problem.tensor(name, kernel.layout) for name in library.operation.tensors_of(problem))
    if any(spec.stored_elements != math.prod(spec.shape) for spec in specs):
        return OrderedRun(unsupported="its tensors have gaps")
    types = types_on(kernel.types(library.operation), library.arch.partition(":")[0])
    orders = [
        _Order(name="as numbered"),
        _Order(name="the other way round", reverse=True),
        *(_Order(name=f"drawn with seed {1 + seed + n}", seed=1 + seed + n) for n in range(_DRAWN)),
    ]
    # launchers that keep sums in a workspace add up there, or let workgroups that come first do so
    is_ordered = support.split_k == 1 and not support.workspace_bytes
    compared, begin = 0, time.monotonic()
    with _Launches(library, key, CProblem.of(problem, split_k), specs, types) as launches:
        for what, values in _operands(
            library.operation, problem, kernel, support.split_k, specs, types, seed
        ):
            exact = what == _EXACT
            bound = (
                None
                if exact or is_ordered
                else _Bound(library.operation, problem, kernel, types, support.split_k)
            )
            if bound is not None and not bound.is_known:
                continue
            launches.fill(values)
            first: NDArray[Any] | None = None
            for order in orders:
                if compared and time.monotonic() - begin > _MOST_S:
                    return OrderedRun(compared=compared)
                library.order(reverse=order.reverse, seed=order.seed)
                got, why = launches.result()
                if got is None:
                    return OrderedRun(found=f"{what} operands, workgroups and waves {order.name}: {why}")
                if first is None:
                    first = got
                    continue
                compared += 1
                if text := launches.difference(first, got, bound):
                    where = f"{what} operands, workgroups and waves {order.name}"
                    return OrderedRun(found=f"{where}: {text}", compared=compared)
    return OrderedRun(compared=compared)


_EXACT: Final = "exact"
_USUAL: Final = "usual"


def _operands(
    operation: Operation,
    problem: Problem,
    kernel: LibraryKernel,
    split_k: int,
    specs: Sequence[TensorSpec],
    types: TypeSet,
    seed: int,
) -> Iterator[tuple[str, OperandValues]]:
    """Yield what operands are filled with: exact ones where the operation has them, then usual ones."""
    length = operation.reduction_length(problem)
    if operation.is_exact(problem):
        exact = ExactKind.of(split_k, kernel.split_sum, operation.roundings(problem))
        yield _EXACT, exact.values(specs, types, length, seed)
    yield _USUAL, OperandValues(kind=InitKind.DECIMAL, seed=seed, reduction_length=length)


class _Bound:
    """How far two right results of a kernel may be apart that adds up in the order of its workgroups."""

    def __init__(
        self, operation: Operation, problem: Problem, kernel: LibraryKernel, types: TypeSet, split_k: int
    ) -> None:
        #: whether it follows from the sums alone
        self.is_known = (
            offers(operation, Operation.contraction) and not operation.contraction(problem).is_changed
        )
        self._types, self._kernel, self._split_k = types, kernel, split_k
        self._length = operation.reduction_length(problem)

    def allows(self, first: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Say of which elements both can be right."""
        sums = Sums(
            reduction_length=self._length,
            magnitude=float(np.abs(first).max(initial=0.0)),
            deviation=math.sqrt(self._length * _PRODUCT_VARIANCE),
        )
        bound = derive_tolerance(self._types, sums, split_k=self._split_k, split_sum=self._kernel.split_sum)
        allowed: NDArray[np.bool_] = np.abs(first - other) <= 2 * (bound.atol + bound.rtol * np.abs(first))
        return allowed


class _Launches:
    """Tensors of one problem on the device, and launches of one kernel on them."""

    def __init__(
        self,
        library: OpenedLibrary,
        key: str,
        problem: CProblem,
        specs: Sequence[TensorSpec],
        types: TypeSet,
    ) -> None:
        self._target, self._kernel = library.library.target, library.library.kernels[key]
        self._problem, self._specs = problem, specs
        self._dtypes = types.of_so_many(len(specs))
        self._ocp = types.ocp
        self._memory: list[tuple[int, NDArray[np.uint8]]] = []

    def __enter__(self) -> _Launches:
        for spec, dtype in zip(self._specs, self._dtypes, strict=True):
            count = spec.stored_elements * dtype.properties.size_bytes
            address = self._target.allocate(count)
            memory = (ctypes.c_uint8 * count).from_address(address)
            self._memory.append((address, np.ctypeslib.as_array(memory)))
        positions = [spec.position for spec in self._specs]
        in_order = sorted(range(len(positions)), key=positions.__getitem__)
        self._buffers = CBuffers.of(*(self._memory[number][0] for number in in_order))
        return self

    def __exit__(self, *error: object) -> None:
        while self._memory:
            self._target.release(self._memory.pop()[0])

    def fill(self, values: OperandValues) -> None:
        """Give all tensors but the last one their values."""
        for spec, dtype, (_, memory) in zip(self._specs[:-1], self._dtypes, self._memory, strict=False):
            stored = make_operand(spec, dtype, values, ocp=self._ocp)
            memory[...] = np.ascontiguousarray(stored).view(np.uint8).ravel()

    def result(self) -> tuple[NDArray[np.uint8] | None, str]:
        """Launch the kernel on a poisoned result; return its bytes, or why there are none."""
        memory = self._memory[-1][1]
        memory[...] = POISON_BYTE
        status, reason, _ = self._kernel.run(self._problem, self._buffers, 0)
        if status is not AbiStatus.OK:
            return None, reason or "the launch failed"
        return memory.copy(), ""

    def difference(self, first: NDArray[np.uint8], other: NDArray[np.uint8], bound: _Bound | None) -> str:
        """Return how a result differs from that of the first order; empty where it may.

        :param bound: ``None`` where no bit may.
        """
        size = self._dtypes[-1].properties.size_bytes
        differs = (first != other).reshape(-1, size).any(axis=1)
        if not differs.any():
            return ""
        was, got = (
            decode(raw.view(storage_type(self._dtypes[-1])), self._dtypes[-1], ocp=self._ocp)
            for raw in (first, other)
        )
        if bound is not None:
            differs &= ~bound.allows(was, got)
        if not differs.any():
            return ""
        spec = self._specs[-1]
        at = int(np.argmax(differs))
        index = ", ".join(
            f"{axis} {place}" for axis, place in zip(spec.axes, np.unravel_index(at, spec.shape), strict=True)
        )
        count = int(np.count_nonzero(differs))
        values = f"{got[at]:g}, as numbered {was[at]:g}"
        return f"{count} of {differs.size} elements differ, the first at {index}: {values}"
