"""A torch for tests: what the baseline uses of it to multiply matrices, on numpy, with a GPU that is none.

It rejects what the real one rejects on an NVIDIA GPU, and events measure only what lies between them, behind
work that keeps the device busy.
"""

import contextlib
import sys
import time
from types import ModuleType, SimpleNamespace

import numpy as np

from ckprof.measure.verify.storage import decode, encode, storage_type
from ckprof.model.types import DataType

__version__ = "2.0+fake"
version = SimpleNamespace(cuda="13.0", hip=None)
#: what the device was told to do
LOG = []


class Type:
    def __init__(self, of, ocp=True):
        self.of, self.ocp = of, ocp
        self.storage = storage_type(of)


float16, bfloat16, float32 = Type(DataType.FP16), Type(DataType.BF16), Type(DataType.FP32)
int8, int32, uint8 = Type(DataType.INT8), Type(DataType.INT32), Type(DataType.FP8)
float8_e4m3fn, float8_e5m2 = Type(DataType.FP8), Type(DataType.BF8)
# it has no float8_e5m2fnuz
float8_e4m3fnuz = Type(DataType.FP8, ocp=False)


class device:
    def __init__(self, kind, index=0):
        self.type, self.index = kind, index


class Tensor:
    def __init__(self, raw, dtype):
        self.raw, self.dtype = raw, dtype

    @property
    def values(self):
        return decode(self.raw, self.dtype.of, ocp=self.dtype.ocp)

    def data_ptr(self):
        return self.raw.ctypes.data

    def numel(self):
        return self.raw.size

    def fill_(self, value):
        self.raw.fill(value)

    def copy_(self, other):
        assert (self.raw.shape, self.raw.dtype) == (other.raw.shape, other.raw.dtype)
        self.raw[...] = other.raw

    def add_(self, other):
        LOG.append("add_")
        self.raw[...] = encode(self.values + other.values, self.dtype.of)
        return self

    def mul_(self, other):
        LOG.append("mul_")
        self.raw[...] = encode(self.values * other.values, self.dtype.of)
        return self

    def __getitem__(self, part):
        return Tensor(self.raw[part], self.dtype)

    def view(self, dtype):
        return Tensor(self.raw.view(dtype.storage), dtype)

    def as_strided(self, lengths, strides):
        last = sum((length - 1) * stride for length, stride in zip(lengths, strides, strict=True))
        assert last < self.raw.size
        size = self.raw.itemsize
        return Tensor(
            np.lib.stride_tricks.as_strided(self.raw, lengths, [size * stride for stride in strides]),
            self.dtype,
        )


def empty(size, dtype, device):
    return Tensor(np.zeros(size, dtype=dtype.storage), dtype)


def ones(shape, device):
    return Tensor(np.ones(shape, dtype=np.float32), float32)


def frombuffer(buffer, dtype):
    return Tensor(np.frombuffer(buffer, dtype=dtype.storage), dtype)


def _rounded(values, dtype):
    return Tensor(encode(values, dtype.of, ocp=dtype.ocp), dtype)


def matmul(a, b):
    LOG.append("matmul")
    assert a.dtype is b.dtype and a.dtype.of in (DataType.FP16, DataType.BF16, DataType.FP32)
    return _rounded(a.values @ b.values, a.dtype)


def _int_mm(a, b):
    LOG.append("_int_mm")
    if a.raw.shape[0] <= 16 or a.raw.shape[1] % 8 or b.raw.shape[1] % 8:
        raise RuntimeError("self.size(0) needs to be greater than 16")
    if b.raw.strides[0] != 1:
        raise RuntimeError("CUDA error: CUBLAS_STATUS_NOT_SUPPORTED when calling `cublasLtMatmul`\n...")
    return Tensor(a.raw.astype(np.int32) @ b.raw.astype(np.int32), int32)


def _scaled_mm(a, b, *, scale_a, scale_b, out_dtype, use_fast_accum):
    LOG.append("_scaled_mm")
    assert scale_a.values == scale_b.values == 1 and use_fast_accum
    (lda, one), (other, ldb) = a.raw.strides, b.raw.strides
    if one != 1 or other != 1 or lda % 16 or ldb % 16 or b.raw.shape[0] % 16 or b.raw.shape[1] % 16:
        raise RuntimeError("Expected b.stride(0) == 1 to be true, but got false.")
    if {a.dtype.of, b.dtype.of} == {DataType.BF8} or not a.dtype.ocp:
        raise RuntimeError("Multiplication of two Float8_e5m2 matrices is unheard of")
    return _rounded(a.values @ b.values, out_dtype), None


no_grad = contextlib.nullcontext
nn = ModuleType("torch.nn")
nn.functional = None
sys.modules[nn.__name__] = nn


class _Event:
    def __init__(self, enable_timing):
        assert enable_timing

    def record(self):
        LOG.append("record")
        self.at = time.perf_counter()

    def synchronize(self):
        LOG.append("synchronize")

    def elapsed_time(self, other):
        first, begin, *computed, end, last = LOG[len(LOG) - 1 - LOG[::-1].index("sleep") :]
        assert (first, begin, end, last) == ("sleep", "record", "record", "synchronize") and computed, LOG
        return (other.at - self.at) * 1e3


def _set_device(index):
    assert index == 0


cuda = SimpleNamespace(
    is_available=lambda: True,
    device_count=lambda: 1,
    set_device=_set_device,
    mem_get_info=lambda device: (2**34, 2**34),
    get_device_name=lambda device: "fake GPU",
    synchronize=lambda device: None,
    Event=_Event,
    _sleep=lambda cycles: LOG.append("sleep"),
)
backends = SimpleNamespace(
    cudnn=SimpleNamespace(benchmark=False, allow_tf32=True, version=lambda: 91900),
    cuda=SimpleNamespace(matmul=SimpleNamespace(allow_tf32=True)),
)
