"""Products of matrices as kernels compute them, right ones and such with a planted fault."""

from __future__ import annotations

import ctypes
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ckprof.measure.verify.storage import decode, encode
from ckprof.measure.worker.messages import AbiStatus, Support
from ckprof.model.types import ComputeType, DataType, SplitSum
from ckprof_plugins.operations.gemm.problem import find_layout

from .fakes import HERE, find_compiler

if TYPE_CHECKING:
    from collections.abc import Callable

    from ckprof.model.types import TypeSet
    from ckprof_plugins.operations.gemm.problem import GemmProblem

#: both operands have K as their fastest axis
LAYOUT = find_layout("rcr")
FUSED, SEPARATE, NEAREST, CUT, WHOLE = range(5)


class CPlan(ctypes.Structure):
    _fields_: ClassVar = [
        ("way", ctypes.c_int32),
        ("step", ctypes.c_int32),
        ("bits", ctypes.c_int32),
        ("splits", ctypes.c_int32),
        ("stride", ctypes.c_int32),
        ("kept", ctypes.c_int32),
        ("skip_from", ctypes.c_int64),
        ("skip_to", ctypes.c_int64),
        ("lost_split", ctypes.c_int32),
    ]


def build_sums(library):
    source = str(HERE / "summing_kernel.cpp")
    flags = ("-std=c++20", "-O2", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC")
    subprocess.run([find_compiler(), *flags, source, "-o", str(library)], check=True, timeout=300)


def nearest(values, dtype):
    return encode(values, dtype)


def cut_off(values, dtype):
    """Round towards zero."""
    stored = encode(values, dtype)
    too_large = np.abs(decode(stored, dtype)) > np.abs(values)
    # words of a sign are ordered by magnitude
    return (
        stored - too_large.astype(stored.dtype) if dtype is DataType.BF16 else _word_less(stored, too_large)
    )


def _word_less(stored, where):
    words = stored.view(np.uint16 if stored.itemsize == 2 else np.uint32)
    words -= where.astype(words.dtype)
    return stored


def away_from_zero(values, dtype):
    """Round ties away from zero."""
    low, near = decode(cut_off(values, dtype), dtype), decode(encode(values, dtype), dtype)
    # a number that is a little larger than a tie is none
    larger = decode(encode(values * (1 + 2.0**-40), dtype), dtype)
    return encode(np.where(near == low, larger, near), dtype)


def tf32(values):
    """Round to nearest, as devices do with operands in TF32."""
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + np.uint32(0xFFF) + ((bits >> 13) & 1)) & np.uint32(0xFFFFE000)).view(np.float32)


def tf32_cut_off(values):
    return (values.astype(np.float32).view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)


def same(values):
    return values


@dataclass(frozen=True, kw_only=True)
class SummingKernel:
    """A kernel, right unless its fields say otherwise."""

    sums: ctypes.CDLL
    types: TypeSet
    problem: GemmProblem
    split_k: int = 1
    split_sum: SplitSum = SplitSum.RESULT_TYPE
    way: int = NEAREST
    step: int = 16
    bits: int = 24
    stride: int = 1
    kept: int = 23
    skip: tuple[int, int] = (0, 0)
    lost_split: int = -1
    #: what is done with the operands' values
    operands: Callable = same
    #: how a sum becomes an element
    store: Callable = nearest

    def is_supported(self, problem):
        return Support(status=AbiStatus.OK, split_k=self.split_k)

    def run(self, problem, buffers, launches=1):
        start = time.perf_counter()
        m, n, k = self.problem.m, self.problem.n, self.problem.k
        kinds = self.types.of_tensors
        sizes = (m * k, n * k, m * n)
        a, b, e = (
            np.frombuffer(
                (ctypes.c_uint8 * (size * dtype.properties.size_bytes)).from_address(int(address)), np.uint8
            ).view(dtype.properties.numpy_storage)
            for size, dtype, address in zip(sizes, kinds, buffers.tensors, strict=False)
        )
        e[...] = self.result(a, b)
        return AbiStatus.OK, "", (time.perf_counter() - start) * 1e3

    def result(self, a, b):
        """Return the stored result of stored operands."""
        m, n, k = self.problem.m, self.problem.n, self.problem.k
        first, second = (
            np.ascontiguousarray(self._multiplied(decode(one, dtype, ocp=self.types.ocp)), dtype=np.float32)
            for one, dtype in zip((a, b), self.types.operands, strict=True)
        )
        parts = np.empty((m * n, self.split_k))
        plan = CPlan(
            way=WHOLE if self.types.acc is DataType.INT32 else self.way,
            step=self.step,
            bits=self.bits,
            splits=self.split_k,
            stride=self.stride,
            kept=self.kept,
            skip_from=self.skip[0],
            skip_to=self.skip[1],
            lost_split=self.lost_split,
        )
        addresses = (ctypes.c_void_p(array.ctypes.data) for array in (first, second, parts))
        self.sums.sum_products(*addresses, *map(ctypes.c_int64, (m, n, k)), ctypes.byref(plan))
        return self._joined(parts)

    def _multiplied(self, values):
        values = self.operands(values)
        if self.types.compute_type is ComputeType.TF32 and self.operands is same:
            return tf32(values)
        return values

    def _joined(self, parts):
        dtype = self.types.result
        if dtype is DataType.INT32:
            return parts.sum(axis=1).astype(np.int32)
        if self.split_k == 1 or self.split_sum is SplitSum.ACCUMULATOR:
            total = parts[:, 0].astype(np.float32)
            for part in parts.T[1:]:
                total += part.astype(np.float32)
            return self.store(total.astype(np.float64), dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            running = np.zeros(len(parts))
            for part in parts.T:
                rounded = decode(self.store(part, dtype), dtype)
                running = decode(self.store(running + rounded, dtype), dtype)
        return encode(running, dtype)
