"""Whatever tensor a direction writes: kernels that leave it unwritten, or write elsewhere, are caught."""

import ctypes
import dataclasses

import msgspec
import numpy as np
import pytest

from ckprof.measure.options import RunOptions
from ckprof.measure.prepare import prepare_problem
from ckprof.measure.worker import audit
from ckprof.measure.worker.abi import AbiStatus, Support
from ckprof.measure.worker.guards import GUARD_BYTES
from ckprof.model.outcome import Status
from ckprof.model.types import DataType
from ckprof_plugins.directions import shipped_directions
from ckprof_plugins.directions._convolution.layout import TENSORS, find_layout
from tests.convolutions import convolution

from .. import local_worker

PROBLEM = convolution("2 2 1 3 2 3 2 5 4 2 1 1 1 1 0 0 1")
DIRECTIONS = {direction.id: direction for direction in shipped_directions()}
#: as many launches on a busy machine as chance needs to find what only some of them show
OPTIONS = RunOptions(flush_bytes=0, min_samples=100, max_time_s=0.01)


class Kernel:
    """Copies the right result, and then does one thing wrong."""

    def __init__(self, right, result, operand, fault, faulty_from_run=1):
        self._right, self._result, self._operand = right, result, operand
        self._fault, self._faulty_from_run, self._runs = fault, faulty_from_run, 0

    def is_supported(self, problem):
        return Support(status=AbiStatus.OK, split_k=problem.split_k)

    def run(self, problem, buffers, launches=1):
        self._runs += 1
        address = buffers.tensors[TENSORS.index(self._result)]
        fault = self._fault if self._runs >= self._faulty_from_run else ""
        size = self._right.nbytes - (4 if fault == "leaves one unwritten" else 0)
        ctypes.memmove(address, self._right.ctypes.data, size)
        if fault == "writes before":
            ctypes.memset(address - 4, 0, 4)
        elif fault == "writes after":
            ctypes.memset(address + self._right.nbytes + 8, 0, 1)
        elif fault == "writes far before":
            ctypes.memset(address - GUARD_BYTES, 0, 1)
        elif fault == "writes 5000 bytes after":
            ctypes.memset(address + self._right.nbytes + 5000, 0, 1)
        elif fault == "writes far after":
            ctypes.memset(address + self._right.nbytes + GUARD_BYTES - 1, 0, 1)
        elif fault == "changes an operand":
            ctypes.memset(buffers.tensors[TENSORS.index(self._operand)], 0x40, 4)
        return AbiStatus.OK, "", 0.01


def measured(direction_id, fault, folder, faulty_from_run=1):
    direction = DIRECTIONS[direction_id]
    layout = find_layout("nhwgc")
    assert layout is not None
    prepared = prepare_problem(direction, PROBLEM, layout, DataType.FP32, OPTIONS, folder)
    request = prepared.request
    right = values_of(prepared).astype(np.float32)
    # the kernel copies what is right: its operands must stay what they are
    prepared = dataclasses.replace(prepared, request=msgspec.structs.replace(request, signs=()))
    kernel = Kernel(right, request.result.name, request.operands[1].name, fault, faulty_from_run)
    return local_worker.measured(kernel, prepared, OPTIONS)


def values_of(prepared):
    """Return the reference."""
    assert prepared.reference is not None
    return prepared.reference[0 : prepared.reference.size]


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_right_kernel_passes(direction, tmp_path):
    assert measured(direction, "", tmp_path).status is Status.OK


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("leaves one unwritten", "1 of"),
        ("writes before", "wrote outside the {result} tensor, before its memory"),
        ("writes after", "wrote outside the {result} tensor, after its memory"),
        ("writes far before", "wrote outside the {result} tensor, before its memory"),
        ("writes 5000 bytes after", "wrote outside the {result} tensor, after its memory"),
        ("writes far after", "wrote outside the {result} tensor, after its memory"),
        ("changes an operand", "changed its operand, the {operand} tensor"),
    ],
)
def test_faults_are_caught(direction, fault, words, tmp_path):
    _, operand, result = DIRECTIONS[direction].tensors
    wrong = measured(direction, fault, tmp_path)
    assert wrong.status is Status.WRONG_RESULT
    assert words.format(result=result, operand=operand) in wrong.reason


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("fault", ["leaves one unwritten", "writes after", "changes an operand"])
def test_faults_of_timed_runs_are_caught(direction, fault, tmp_path, monkeypatch):
    # a busy machine has time for four launches: each of them is to be told from poison
    monkeypatch.setattr(audit.chance, "random", lambda: 0.0)
    wrong = measured(direction, fault, tmp_path, faulty_from_run=3)
    assert wrong.status is Status.WRONG_RESULT and wrong.reason.endswith("(in a timed run)")
