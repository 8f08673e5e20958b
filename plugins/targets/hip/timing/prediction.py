"""Answers questions about times: the emulated device executes some workgroups, their time is composed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.model.architecture import find_architecture
from ckprof.model.prediction import TimeAnswer
from ckprof_plugins.targets.hip.timing.child import Question, Setup
from ckprof_plugins.targets.hip.timing.client import LaunchTimes
from ckprof_plugins.targets.hip.timing.composition import Launch, compose
from ckprof_plugins.targets.hip.timing.tables import find_model, property_of, unit_table

if TYPE_CHECKING:
    from ckprof.model.prediction import PredictionRequest, TimeQuestion
    from ckprof_plugins.targets.hip.timing.child import Answer
    from ckprof_plugins.targets.hip.timing.tables import DeviceModel

#: instructions that one simulation of a compute unit executes about
MOST_STEPS: Final = 400_000
#: type of the tensors -> name of its rate
_RATES: Final = {"fp64": "f64", "fp32": "f32", "fp16": "f16", "bf16": "bf16", "int8": "i8", "fp8": "fp8"}


def predict(request: PredictionRequest) -> tuple[TimeAnswer, ...]:
    """Return the answers to the questions, in their order.

    :raises ToolchainError: the library is not linked with the emulated device.
    """
    arch = request.arch.partition(":")[0]
    model = find_model(arch, request.model)
    setup = Setup(
        library=str(request.library.resolve()),
        arch=request.arch,
        table=unit_table(arch),
        compute_units=model.compute_units,
        most_steps=MOST_STEPS,
        profile=request.profile,
    )
    with LaunchTimes(setup) as times:
        return tuple(
            _answer(question, times.ask(_asked(question)), arch, model) for question in request.questions
        )


def _asked(question: TimeQuestion) -> Question:
    return Question(
        key=question.key,
        ndim=question.problem.ndim,
        values=tuple(question.problem.values()),
        split_k=question.split_k,
        tensor_bytes=question.tensor_bytes,
    )


def _answer(question: TimeQuestion, answer: Answer, arch: str, model: DeviceModel) -> TimeAnswer:
    launches = [msgspec.json.decode(raw, type=Launch) for raw in answer.launches]
    if answer.unsupported or answer.reason or not any(launch.time for launch in launches):
        return TimeAnswer(
            unsupported=answer.unsupported, reason=answer.reason or "the kernel launched nothing"
        )
    return TimeAnswer(
        time=compose(
            launches,
            model,
            traffic_bytes=question.traffic_bytes,
            peak_us=_peak_us(question, arch, model),
            line_bytes=int(property_of("line_bytes", arch)),
        )
    )


def _peak_us(question: TimeQuestion, arch: str, model: DeviceModel) -> float:
    """Return what the multiplications take at the peak rate; 0 where that is not known."""
    known = find_architecture(arch)
    rate = known.machine.flops_per_cycle.get(_RATES.get(question.dtype, "")) if known.machine else None
    if not rate:
        return 0.0
    return question.flop / (rate * known.simds_per_cu * model.compute_units * model.clock_mhz)
