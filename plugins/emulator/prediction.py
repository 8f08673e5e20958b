"""Answers questions about times: the emulated device executes some workgroups, their time is composed."""

from __future__ import annotations

import subprocess
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.errors import ToolchainError
from ckprof.model.architecture import find_architecture
from ckprof.python_child import python_command
from ckprof_plugins.emulator.answers import AnswerCache
from ckprof_plugins.emulator.child import Answer, Question, Setup
from ckprof_plugins.emulator.library import library_path
from ckprof_plugins.emulator.model_digest import model_digest
from ckprof_plugins.emulator.predicted_time import Launch, PredictedTime, compose
from ckprof_plugins.emulator.tables import property_of, unit_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ckprof_plugins.emulator.tables import DeviceModel


_CHILD: Final = "ckprof_plugins.emulator.child"
#: characters of the error output that are shown
_TAIL: Final = 400


class LaunchTimer:
    """Asks a library that is linked with the emulated device; a context manager.

    A kernel that brings the process down costs one answer: the next question starts another process.
    """

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> LaunchTimer:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def ask(self, question: Question) -> Answer:
        """Return what the device does with a kernel and a problem.

        :raises ToolchainError: the library cannot be loaded, or is not linked with the device.
        """
        if self._process is None:
            self._start()
        answer = self._exchange(question)
        if answer is None:
            self.close()
            return Answer(reason="the kernel ended the process that predicts its time")
        return answer

    def close(self) -> None:
        """End the process."""
        if self._process is None:
            return
        process, self._process = self._process, None
        process.kill()
        process.communicate()

    def _start(self) -> None:
        # what the library prints, such as why a kernel rejects a problem, is in the answers
        self._process = subprocess.Popen(
            _command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        answer = self._exchange(self._setup)
        if answer is None or answer.reason:
            self.close()
            reason = answer.reason[:_TAIL] if answer is not None else "its process ended"
            raise ToolchainError(f"{self._setup.library}: times cannot be predicted with it: {reason}")

    def _exchange(self, request: Setup | Question) -> Answer | None:
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            return None
        try:
            process.stdin.write(msgspec.json.encode(request) + b"\n")
            process.stdin.flush()
            return msgspec.json.decode(process.stdout.readline(), type=Answer)
        except (OSError, msgspec.DecodeError):
            return None


def _command() -> list[str]:
    return python_command(_CHILD)


#: instructions that one simulation of a compute unit executes about
MOST_STEPS: Final = 400_000
#: type of the tensors -> name of its rate
_RATES: Final = {"fp64": "f64", "fp32": "f32", "fp16": "f16", "bf16": "bf16", "int8": "i8", "fp8": "fp8"}


def predict(
    library: Path,
    arch: str,
    model: DeviceModel,
    questions: Sequence[Question],
    *,
    profile: bool = False,
    machine_code: Sequence[str] = (),
) -> Iterator[tuple[PredictedTime | None, Answer]]:
    """Yield how long kernels of a library take, in the order of the questions, or why there is no time.

    :param library: built for the emulated device.
    :param arch: what it was built for, with features.
    :param model: the product whose times are predicted.
    :param profile: what the waves of each kernel do is wanted, too.
    :param machine_code: digest of the object of each question's kernel, by which answers are kept and found
        again; empty where nothing is kept.
    :raises ToolchainError: the library is not linked with the emulated device.
    """
    base = arch.partition(":")[0]
    setup = Setup(
        library=str(library.resolve()),
        runtime=str(device) if (device := library_path()).is_file() else "",
        arch=arch,
        table=unit_table(base),
        compute_units=model.compute_units,
        most_steps=MOST_STEPS,
        profile=profile,
    )
    cache = AnswerCache(model_digest(base, model), arch, profile=profile) if any(machine_code) else None
    with LaunchTimer(setup) as times:
        for question, code in zip_longest(questions, machine_code, fillvalue=""):
            assert isinstance(question, Question)  # noqa: S101 - there are not more digests than questions
            answer = cache.find(question, code) if cache and code else None
            if answer is None:
                answer = times.ask(question)
                if cache and code:
                    cache.keep(question, code, answer)
            yield _timed(question, answer, base, model)


def _timed(
    question: Question, answer: Answer, arch: str, model: DeviceModel
) -> tuple[PredictedTime | None, Answer]:
    launches = [msgspec.json.decode(raw, type=Launch) for raw in answer.launches]
    if answer.unsupported or answer.reason or not any(launch.time for launch in launches):
        reason = answer.reason or "the kernel launched nothing"
        return None, Answer(unsupported=answer.unsupported, reason=reason)
    time = compose(
        launches,
        model,
        traffic_bytes=question.traffic_bytes,
        peak_us=_peak_us(question, arch, model),
        line_bytes=int(property_of("line_bytes", arch)),
    )
    return time, Answer()


def _peak_us(question: Question, arch: str, model: DeviceModel) -> float:
    """Return what the multiplications take at the peak rate; 0 where that is not known."""
    known = find_architecture(arch)
    rate = known.machine.flops_per_cycle.get(_RATES.get(question.dtype, "")) if known.machine else None
    if not rate:
        return 0.0
    return question.flop / (rate * known.simds_per_cu * model.compute_units * model.clock_mhz)
