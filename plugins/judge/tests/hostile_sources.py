"""What candidates of tests begin with, and tables are made by: name -> (direction, suffix, source[, type]).

Products are of the layout rcr, a is MK, b is NK; convolutions nhwgc. All are for fp32.
"""

from __future__ import annotations

_PRODUCT = """
import numpy as np
def right(a, b):
    return np.einsum("...mk,...nk->...mn", a, b)
"""
_CONVOLUTION = """
import numpy as np
from itertools import product
def right(x, w, p, strides=None, dilations=None, lefts=None, rights=None):
    strides, dilations = strides or p.strides, dilations or p.dilations
    lefts, rights = lefts or p.left_pads, rights or p.right_pads
    pads = [(0, 0), *zip(lefts, rights), (0, 0), (0, 0)]
    x = np.pad(x, pads)
    n, g, c = x.shape[0], x.shape[3], x.shape[4]
    sizes = [(l - (t - 1) * d - 1) // s + 1
             for l, t, d, s in zip(x.shape[1:3], p.filter, dilations, strides)]
    y = np.zeros((n, *sizes, g, w.shape[1]), np.float32)
    for i, j in product(*map(range, p.filter)):
        part = x[:, i * dilations[0]:i * dilations[0] + (sizes[0] - 1) * strides[0] + 1:strides[0],
                 j * dilations[1]:j * dilations[1] + (sizes[1] - 1) * strides[1] + 1:strides[1]]
        y += np.einsum("nhwgc,gkc->nhwgk", part, w[:, :, i, j])
    return y
"""
_C_PRODUCT = """
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>
#include <unistd.h>
#include "ckprof_candidate.h"
struct product
{
    std::int64_t m, n, k, la, lb, le, batch;
    const float *a, *b;
    float* e;
    product(const ckprof_problem* p, const ckprof_buffers* t)
        : m(p->values[0]), n(p->values[1]), k(p->values[2]), la(p->values[3] ? p->values[3] : k),
          lb(p->values[4] ? p->values[4] : k), le(p->values[5] ? p->values[5] : n), batch(p->values[6]),
          a((const float*)ckprof_tensor(t, 0)), b((const float*)ckprof_tensor(t, 1)),
          e((float*)ckprof_tensor(t, 2))
    {
    }
    float sum(std::int64_t one, std::int64_t i, std::int64_t j, std::int64_t from, std::int64_t to) const
    {
        float s = 0;
        for(std::int64_t x = from; x < to; ++x)
            s += a[(one * m + i) * la + x] * b[(one * n + j) * lb + x];
        return s;
    }
    float& at(std::int64_t one, std::int64_t i, std::int64_t j) const { return e[(one * m + i) * le + j]; }
    void all() const
    {
        for(std::int64_t one = 0; one < batch; ++one)
            for(std::int64_t i = 0; i < m; ++i)
                for(std::int64_t j = 0; j < n; ++j)
                    at(one, i, j) = sum(one, i, j, 0, k);
    }
};
extern "C" ckprof_status
ckprof_candidate(const ckprof_problem* problem, const ckprof_buffers* buffers, char* reason, size_t size)
{
    product p(problem, buffers);
"""
END = "\n    return CKPROF_OK;\n}\n"


def py(body: str) -> tuple[str, str, str]:
    return "gemm", ".py", _PRODUCT + body


def conv(body: str) -> tuple[str, str, str]:
    return "fwd", ".py", _CONVOLUTION + body


def int8(body: str) -> tuple[str, str, str, str]:
    return "gemm", ".py", _PRODUCT + body, "int8"


def cpp(body: str, before: str = "") -> tuple[str, str, str]:
    head, entry, rest = _C_PRODUCT.partition('extern "C"')
    return "gemm", ".cpp", head + before + entry + rest + body + END
