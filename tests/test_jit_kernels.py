"""Kernels on demand."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ckprof
from ckprof.errors import InputError, NothingLeftError, UsageError
from ckprof_plugins.directions._convolution.layout import find_layout, tensor_shape
from ckprof_plugins.directions.fwd import Forward
from tests.places import cxx

PROBLEM = ckprof.ConvProblem(
    groups=1,
    batch=1,
    out_channels=16,
    in_channels=16,
    filter=(1, 1),
    input=(6, 5),
    strides=(1, 1),
    dilations=(1, 1),
    left_pads=(0, 0),
    right_pads=(0, 0),
)

#: Two small kernels of the list, which other tests compile as well.
REQUEST = {"rule_set": "tiny", "arch": "gfx942", "dtype": "fp16", "filters": "tile_m <= 64", "limit": 2}

CHILD = """
import json, sys, time
import ckprof
from tests.test_jit_kernels import PROBLEM, REQUEST
kernels = ckprof.jit(PROBLEM, "fwd", compiler=sys.argv[1], **REQUEST)
print(json.dumps([kernel.name for kernel in kernels]))
"""


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """Work in a folder and with a cache of the test's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CKPROF_WORK_DIR", str(tmp_path / "work"))


@pytest.mark.thorough
@pytest.mark.compiler
def test_kernels_are_callable_and_cached(elsewhere, tmp_path):
    kernels = ckprof.jit(PROBLEM, "fwd", **REQUEST)
    assert kernels
    draw = np.random.default_rng(2)
    layout = find_layout("nhwgc")
    operands = {
        name: draw.uniform(-1, 1, tensor_shape(PROBLEM, layout, name)).astype(np.float16)
        for name in ("input", "weight")
    }
    doubles = {name: values.astype(np.float64) for name, values in operands.items()}
    expected = Forward().reference(PROBLEM, layout, doubles)
    for kernel in kernels:
        np.testing.assert_allclose(kernel(**operands).astype(float), expected, rtol=1e-3, atol=1e-3)
        assert kernel.rejection() == "" and kernel.rejection(split_k=2) != ""
        assert kernel.run(operands).time_ms > 0
        assert kernel.instance_string.startswith("GroupedConvolution")
    # Another process finds everything: not even a compiler that compiles nothing is missed.
    library = kernels[0].library.path
    stamp = library.stat().st_mtime_ns
    done = subprocess.run(
        [sys.executable, "-c", CHILD, cxx()],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [kernel.name for kernel in kernels]
    assert library.stat().st_mtime_ns == stamp


@pytest.mark.parametrize(
    ("error", "message", "changes"),
    [
        (UsageError, "unknown rule set 'tony'; did you mean 'tiny'", {"rule_set": "tony"}),
        (UsageError, "unknown architecture 'gfx943'", {"arch": "gfx943"}),
        (UsageError, "unknown field 'tile_q'", {"filters": "tile_q == 1"}),
        (UsageError, "unknown target 'gpu'", {"target": "gpu"}),
        (UsageError, "conf and rule_set contradict each other", {"conf": "forward/tests/nhwgc_fp16"}),
        (UsageError, "jit: limit is .2., expected int", {"limit": "2"}),
        *((UsageError, f"jit: limit is {n}, expected at least 1$", {"limit": n}) for n in (0, -1)),
        (NothingLeftError, "are valid for gfx942, none of them passes", {"filters": "tile_m == 1"}),
        (InputError, "no such file", {"conf": "none.conf", "rule_set": None}),
    ],
)
def test_wrong_requests(error, message, changes, elsewhere):
    with pytest.raises(error, match=message):
        ckprof.jit(PROBLEM, "fwd", **{**REQUEST, **changes})


def test_names_for_programs_are_loaded_on_first_use():
    code = "import ckprof, sys; print('numpy' in sys.modules, ckprof.jit.__name__, 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False jit True\n"
    with pytest.raises(AttributeError, match="no attribute 'jet'"):
        ckprof.jet  # noqa: B018
