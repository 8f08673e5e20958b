"""Libraries of others in a process like that of a candidate: in the same memory, or not at all."""

from __future__ import annotations

import ctypes
import json

import msgspec
import numpy as np
import pytest

from ckprof.model.computation import Computation, TensorView
from ckprof.model.types import DataType
from ckprof_plugins.judge.native_candidate import UnusableError
from ckprof_plugins.judge.served_baseline import OWN_MEMORY, ServedBaseline

_ENGINE = """
import ctypes
import numpy as np
from ckprof.measure.worker.baseline_session import BaselineRejection
from ckprof.model.requirement import UnmetRequirement

class Engine:
    description = "numpy, for a test"
    operations = ("gemm",)
    pieces = {}

    def __init__(self, device, on_host):
        assert on_host and device.cpu_threads == 3

    def unmet_requirements(self, work):
        wide = work.problem["m"] > 4
        return [UnmetRequirement(rule="m", message="m is more than 4")] if wide else []

    def roundings(self, work):
        return 2

    def borrow(self, address, size_bytes, owner):
        self.pieces[address] = (size_bytes, owner)

    def forget_borrowed(self):
        self.pieces.clear()

    def launch(self, work, addresses):
        if work.problem["k"] == 1:
            raise BaselineRejection("k is 1")
        views = []
        for tensor in work.tensors:
            size_bytes, _ = self.pieces[addresses[tensor.name]]
            block = (ctypes.c_char * size_bytes).from_address(addresses[tensor.name])
            views.append(np.frombuffer(block, "f4").reshape(tensor.lengths))
        np.matmul(views[0], views[1].T, out=views[2])

class Alone:
    description, operations = "", ()

    def __init__(self, device, on_host):
        pass
"""


def config(tmp_path, name):
    path = tmp_path / "engine.py"
    path.write_text(_ENGINE)
    return {"entry": f"{path}:{name}", "gpu": None, "cpu_threads": 3}


def work(m, n, k, operation="gemm"):
    shapes = {"a": (m, k), "b": (n, k), "e": (m, n)}
    return Computation(
        operation=operation,
        layout="rcr",
        ocp=True,
        problem={"m": m, "n": n, "k": k},
        tensors=tuple(
            TensorView(
                name=name, axes=name.upper() + "X", lengths=shape, strides=(shape[1], 1), dtype=DataType.FP32
            )
            for name, shape in shapes.items()
        ),
    )


def sent(work):
    return json.loads(msgspec.json.encode(work))


def test_one_that_has_its_own_memory_alone_is_not_served(tmp_path):
    with pytest.raises(UnusableError, match=OWN_MEMORY):
        ServedBaseline(config(tmp_path, "Alone"))


def test_it_says_what_it_cannot_do(tmp_path):
    served = ServedBaseline(config(tmp_path, "Engine"))
    assert served.description == "numpy, for a test"
    assert served.support(sent(work(4, 5, 6))) == {"unmet": [], "roundings": 2}
    (unmet,) = served.support(sent(work(5, 5, 6)))["unmet"]
    assert unmet == {"rule": "m", "message": "m is more than 4"}
    (unmet,) = served.support(sent(work(4, 5, 6, "fwd")))["unmet"]
    assert unmet["message"] == "it has nothing for the operation fwd"


def test_it_computes_in_the_memory_that_it_is_given(tmp_path):
    served = ServedBaseline(config(tmp_path, "Engine"))
    one = work(4, 5, 6)
    draw = np.random.default_rng(1)
    memory, places, offset = [], [], 64
    values = {tensor.name: draw.random(tensor.lengths, np.float32) for tensor in one.tensors}
    for array in values.values():
        block = (ctypes.c_char * (array.nbytes + offset))()
        ctypes.memmove(ctypes.addressof(block) + offset, array.ctypes.data, array.nbytes)
        memory.append(block)
        places.append({"offset": offset, "bytes": array.nbytes})
    tensors = [{"name": tensor.name} for tensor in one.tensors]
    served.set_work({"computation": sent(one), "tensors": tensors, "places": places}, memory)
    assert served.run() == (0, "")
    result = np.frombuffer(memory[2], "f4", offset=offset).reshape(4, 5)
    assert np.allclose(result, values["a"] @ values["b"].T)
    served.set_work({"computation": sent(work(4, 5, 1)), "tensors": [], "places": []}, [])
    assert served.run() == (1, "k is 1")


@pytest.mark.thorough
def test_torch_is_timed_as_a_candidate_is(ckprof, tmp_path):
    pytest.importorskip("torch")
    file = tmp_path / "mine.py"
    file.write_text('ARRAYS = "torch"\ndef candidate(a, b):\n    return a @ b.swapaxes(-1, -2)\n')
    what = ("judge", "gemm", file, "--problem", "256x256x256", "--dtype", "fp32", "--baseline", "torch")
    said = json.loads(ckprof(*what, "--budget", "8s", "--format", "json").ok().out)
    (comparison,) = said["comparisons"]
    assert comparison["paired"] and comparison["what"].startswith("torch ")
    # the same product in the same kind of process
    assert 0.2 < comparison["ratio"] < 5
