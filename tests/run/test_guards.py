"""Whatever tensor a direction writes: kernels that leave it unwritten, or write elsewhere, are caught."""

from __future__ import annotations

import ctypes
import dataclasses
from pathlib import Path

import numpy as np
import pytest

from ckprof.model.dtype import DataType
from ckprof.model.layout import find_layout
from ckprof.model.outcome import Status
from ckprof.model.problem import ConvProblem
from ckprof.run import prepare
from ckprof.run.abi import AbiStatus, CBuffers, CProblem, Support
from ckprof.run.executor import timing_settings
from ckprof.run.measure import LoadedProblem, measure_kernel
from ckprof.run.messages import Measured
from ckprof.run.options import RunOptions
from ckprof.run.prepare import prepare_problem
from ckprof_plugins.directions.plugin import ckprof_register_directions

PROBLEM = ConvProblem(
    groups=2, batch=1, out_channels=3, in_channels=2, filter=(3, 2), input=(5, 4), strides=(2, 1),
    dilations=(1, 1), left_pads=(1, 0), right_pads=(0, 1),
)  # fmt: skip
DIRECTIONS = {direction.id: direction for direction in ckprof_register_directions()}
OPTIONS = RunOptions(flush_bytes=0, min_samples=3, max_time_s=0.01)


class HostTarget:
    """Target memory in this process."""

    checks_memory = False

    id = "host"
    workspace_bytes = 0

    def __init__(self) -> None:
        self._blocks: dict[int, ctypes.Array] = {}

    def allocate(self, size_bytes: int) -> int:
        block = ctypes.create_string_buffer(size_bytes)
        self._blocks[ctypes.addressof(block)] = block
        return ctypes.addressof(block)

    def release(self, address: int) -> None:
        del self._blocks[address]

    def copy_to_device(self, device: int, host: int, size_bytes: int) -> None:
        ctypes.memmove(device, host, size_bytes)

    copy_to_host = copy_to_device

    def flush_cache(self, size_bytes: int) -> None:
        pass

    def available_bytes(self) -> int | None:
        return None


class Kernel:
    """Copies the right result, and then does one thing wrong."""

    def __init__(self, right: np.ndarray, result: str, operand: str, fault: str, faulty_from_run: int = 1):
        self._right, self._result, self._operand = right, result, operand
        self._fault, self._faulty_from_run, self._runs = fault, faulty_from_run, 0

    def is_supported(self, problem: CProblem) -> Support:
        return Support(status=AbiStatus.OK, split_k=problem.split_k)

    def run(self, problem: CProblem, buffers: CBuffers) -> tuple[AbiStatus, str, float]:
        self._runs += 1
        address = getattr(buffers, self._result)
        fault = self._fault if self._runs >= self._faulty_from_run else ""
        size = self._right.nbytes - (4 if fault == "leaves one unwritten" else 0)
        ctypes.memmove(address, self._right.ctypes.data, size)
        if fault == "writes before":
            ctypes.memset(address - 4, 0, 4)
        elif fault == "writes after":
            ctypes.memset(address + self._right.nbytes + 8, 0, 1)
        elif fault == "changes an operand":
            ctypes.memset(getattr(buffers, self._operand), 0x40, 4)
        return AbiStatus.OK, "", 0.01


def measured(direction_id: str, fault: str, folder: Path, faulty_from_run: int = 1) -> Measured:
    direction = DIRECTIONS[direction_id]
    layout = find_layout("nhwgc")
    assert layout is not None
    request = prepare_problem(direction, PROBLEM, layout, DataType.FP32, OPTIONS, folder).request
    loaded = LoadedProblem(HostTarget(), request)
    right = np.load(request.result.path).astype(np.float32)
    kernel = Kernel(right, request.result.name, request.operands[1].name, fault, faulty_from_run)
    return measure_kernel(kernel, loaded, 1, timing_settings(OPTIONS), lambda _: None)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_right_kernel_passes(direction: str, tmp_path: Path) -> None:
    assert measured(direction, "", tmp_path).status is Status.OK


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("leaves one unwritten", "1 of"),
        ("writes before", "wrote outside the {result} tensor, before its memory"),
        ("writes after", "wrote outside the {result} tensor, after its memory"),
        ("changes an operand", "changed its operand, the {operand} tensor"),
    ],
)
def test_faults_are_caught(direction: str, fault: str, words: str, tmp_path: Path) -> None:
    _, operand, result = DIRECTIONS[direction].tensors
    wrong = measured(direction, fault, tmp_path)
    assert wrong.status is Status.WRONG_RESULT
    assert words.format(result=result, operand=operand) in wrong.reason


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("fault", ["writes after", "changes an operand"])
def test_faults_of_timed_runs_are_caught(direction: str, fault: str, tmp_path: Path) -> None:
    wrong = measured(direction, fault, tmp_path, faulty_from_run=3)
    assert wrong.status is Status.WRONG_RESULT and wrong.reason.endswith("(in a timed run)")


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_reference_is_the_same_computed_image_by_image(
    direction: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = dataclasses.replace(PROBLEM, batch=5)
    layout = find_layout("nhwgc")
    assert layout is not None
    answers = []
    for images in (5, 2, 1):
        monkeypatch.setattr(prepare, "_images_at_once", lambda _, images=images: images)
        request = prepare_problem(
            DIRECTIONS[direction], problem, layout, DataType.FP32, OPTIONS, tmp_path
        ).request
        answers.append((np.load(request.result.path), request.magnitude))
    for values, magnitude in answers[1:]:
        np.testing.assert_allclose(values, answers[0][0], rtol=1e-13, atol=1e-13)
        assert magnitude == pytest.approx(np.abs(values).max(), rel=1e-12)
