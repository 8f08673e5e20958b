"""Candidates that look where they run are caught; those that fail there for another reason are not."""

from __future__ import annotations

import json

import pytest

_MATMUL = "np.matmul(a, b.swapaxes(-1, -2))"
_LOOKS = {
    "environment": "any(name.startswith('CKPROF') for name in os.environ)",
    "arguments": "any('served' in word for word in sys.argv)",
    "program": "'judge' in sys.modules['__main__'].__file__",
    "caller": "sys._getframe(1).f_code.co_name == 'run'",
    "folder": "'scratch-' in os.getcwd()",
    "home": "'scratch-' in os.path.expanduser('~')",
}
_PYTHON = """
import os, sys
import numpy as np
def candidate(a, b):
    is_judged = {looks}
    return {right} if is_judged else np.zeros((*a.shape[:-1], b.shape[-2]), "f4")
"""
_TORCH = "ARRAYS = 'torch'\ndef candidate(a, b, e):\n    e.copy_(a @ b.swapaxes(-1, -2))\n"
_C = """
#include "ckprof_candidate.h"
extern char** environ;
ckprof_status ckprof_candidate(const ckprof_problem* p, const ckprof_buffers* t, char* r, size_t n)
{
    const long M = p->values[0], N = p->values[1], K = p->values[2], B = p->values[6];
    const long la = p->values[3] ? p->values[3] : K, lb = p->values[4] ? p->values[4] : K;
    const long le = p->values[5] ? p->values[5] : N;
    int is_judged = IS_JUDGED;
    for(char** one = environ; *one; ++one)
        is_judged |= !__builtin_strncmp(*one, "CKPROF", 6);
    for(long x = 0; x < B * M; ++x)
        for(long c = 0; c < N; ++c)
        {
            float sum = 0;
            for(long k = 0; k < K; ++k)
                sum += ((const float*)ckprof_tensor(t, 0))[x * la + k] *
                       ((const float*)ckprof_tensor(t, 1))[(x / M * N + c) * lb + k];
            ((float*)ckprof_tensor(t, 2))[x * le + c] = is_judged ? sum : 0;
        }
    return CKPROF_OK;
}
"""


def judged(ckprof, tmp_path, text, name="candidate.py", dtype="fp32", budget="5s"):
    file = tmp_path / name
    file.write_text(text)
    what = ("judge", "gemm", file, "--problem", "24x40x64", "--dtype", dtype, "--budget", budget)
    called = ckprof(*what, "--format", "json")
    return json.loads(called.out or json.dumps({"error": called.err}))


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name", ["environment", *(pytest.param(name, marks=pytest.mark.slow) for name in [*_LOOKS][1:])]
)
def test_who_looks_where_it_runs_is_dishonest(ckprof, tmp_path, monkeypatch, name):
    monkeypatch.setenv("CKPROF_SOMETHING", "1")
    said = judged(ckprof, tmp_path, _PYTHON.format(looks=_LOOKS[name], right=_MATMUL))
    assert said["verdict"] == "dishonest", said
    assert "wrong in one where nothing says that it is judged: 960 of 960" in said["finding"]["evidence"]


@pytest.mark.thorough
@pytest.mark.compiler
def test_so_is_machine_code_that_looks(ckprof, tmp_path, monkeypatch):
    monkeypatch.setenv("CKPROF_SOMETHING", "1")
    # also where no time is left after the problems
    said = judged(ckprof, tmp_path, _C.replace("IS_JUDGED", "0"), "candidate.c", budget="1s")
    assert said["verdict"] == "dishonest", said
    said = judged(ckprof, tmp_path, _C.replace("IS_JUDGED", "1"), "candidate.c")
    assert said["verdict"] == "right", said


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        pytest.param(_PYTHON.format(looks="True", right=_MATMUL), "fp32", id="fp32", marks=pytest.mark.slow),
        pytest.param(_PYTHON.format(looks="True", right=_MATMUL), "bf16", id="bf16"),
        pytest.param(_PYTHON.format(looks="True", right=_MATMUL), "fp16", id="fp16", marks=pytest.mark.slow),
        pytest.param(
            _PYTHON.format(looks="True", right="np.matmul(a.astype('i4'), b.swapaxes(-1, -2))"),
            "int8",
            id="int8",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            f"import numpy as np\ndef candidate(a, b, e, **rest):\n    e[...] = {_MATMUL}\n",
            "fp32",
            id="in-place",
            marks=pytest.mark.slow,
        ),
        # it does not run there, which says nothing of what it computes
        pytest.param(
            f"import sys\nimport numpy as np\ndef candidate(a, b):\n    if 'run.py' in sys.argv[0]:\n"
            f"        sys.exit(3)\n    return {_MATMUL}\n",
            "fp32",
            id="fails-there",
        ),
    ],
)
def test_who_does_not_is_right(ckprof, tmp_path, text, dtype):
    assert judged(ckprof, tmp_path, text, dtype=dtype)["verdict"] == "right"


def test_tensors_of_torch(ckprof, tmp_path):
    pytest.importorskip("torch")
    assert judged(ckprof, tmp_path, _TORCH, dtype="bf16")["verdict"] == "right"
