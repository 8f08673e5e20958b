"""Predicted figures of kernels as a file: the baseline that a repository holds."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ckprof.files import content_of, decoded, write_output
from ckprof.kernels.keys import digest_parts
from ckprof.model.problem_types import problem_from, sizes
from ckprof.paths import lasting_name

if TYPE_CHECKING:
    from pathlib import Path

    from ckprof.kernels.candidates import Rejection
    from ckprof.model.problem import Problem
    from ckprof.model.problem_case import ProblemCase
    from ckprof_plugins.emulator.kernel_profile import ExecutedInstruction, KernelProfile
    from ckprof_plugins.tuning.prediction import KernelPrediction, Predictions

SCHEMA: Final = "ckprof-prediction-baseline"
VERSION: Final = 1
#: status of kernels that have a predicted time
PREDICTED: Final = "predicted"
#: units whose instructions are counted by mnemonic: widths, matrix shapes and scratch accesses stand there
_BY_MNEMONIC: Final = ("matrix", "lds", "memory")
_BRANCH: Final = "branch"
#: instructions of other units that are counted by mnemonic as well
_SYNCHRONISING: Final = ("s_barrier", "s_waitcnt")


class LoopInstruction(msgspec.Struct, frozen=True, array_like=True):
    """An instruction of the loop that most executed instructions belong to."""

    text: str
    unit: str
    #: cycles of bank conflicts of one execution
    conflict_cycles: float = 0.0

    @property
    def mnemonic(self) -> str:
        """The first word of its text, without the suffix of its encoding."""
        return mnemonic_of(self.text)


class KernelFigures(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was predicted of a kernel on a problem."""

    #: content key of the instance
    key: str
    name: str
    #: line of the list, ``file:line``
    line: str
    split_k: int = 1
    #: ``predicted``, ``unsupported``, ``failed`` or ``not built``
    status: str
    reason: str = ""
    time_us: float = 0.0
    #: limits that hold a measured time in 90 of 100 cases, in microseconds
    interval_us: tuple[float, float] = (0.0, 0.0)
    #: of the busiest compute unit, all launches together
    cycles: float = 0.0
    limit: str = ""
    #: unit -> share of the time that it works; what waves wait for -> share of their time
    busy: dict[str, float] = {}
    stalls: dict[str, float] = {}
    #: workgroups that share a compute unit, and what allows no more
    resident: int = 0
    limited_by: str = ""
    #: work-items of a workgroup
    lanes: int = 0
    #: vgprs, agprs, sgprs, vgpr_spills, sgpr_spills, lds_bytes, scratch_bytes
    needs: dict[str, int] = {}
    #: mnemonic or unit -> instructions that the waves of a workgroup execute
    executed: dict[str, int] = {}
    conflict_cycles: float = 0.0
    iterations: int = 0
    #: key of the loop in :attr:`PredictionBaseline.loops`; empty without one
    loop: str = ""

    @property
    def spills(self) -> int:
        """Registers that the compiler has moved to memory."""
        return self.needs.get("vgpr_spills", 0) + self.needs.get("sgpr_spills", 0)


class ProblemFigures(msgspec.Struct, frozen=True, kw_only=True):
    """All kernels on a problem, in the order of the list."""

    problem: str
    sizes: dict[str, Any]
    kernels: tuple[KernelFigures, ...]

    @property
    def parsed(self) -> Problem:
        """The problem.

        :raises ValueError: the sizes are those of none.
        """
        return problem_from(self.sizes)


class PredictionBaseline(msgspec.Struct, frozen=True, kw_only=True):
    """One side: the file holds nothing else."""

    schema: str = SCHEMA
    version: int = VERSION
    #: of the time model; sides with different ones are not comparable
    model: str
    gpu: str
    arch: str
    direction: str
    compiler: str
    problems: tuple[ProblemFigures, ...]
    #: digest -> instructions; kernels share equal ones
    loops: dict[str, tuple[LoopInstruction, ...]]


def mnemonic_of(text: str) -> str:
    """Return the mnemonic of an instruction, without the suffix of its encoding."""
    word = text.split(None, 1)[0]
    for suffix in ("_e32", "_e64"):
        word = word.removesuffix(suffix)
    return word


class FiguresCollector:
    """Takes the figures out of profiles while kernels are predicted: profiles of all of them fill memory."""

    def __init__(self) -> None:
        self._figures: dict[tuple[str, str, int], KernelFigures] = {}
        self._loops: dict[str, tuple[LoopInstruction, ...]] = {}

    def take(self, case: ProblemCase, kernel: KernelPrediction) -> None:
        """Note what was predicted of a kernel on a problem, with a profile unless it has no time."""
        figures = figures_of(kernel, self._loops)
        self._figures[case.problem.describe(), figures.key, figures.split_k] = figures

    def baseline(self, predictions: Predictions, model: str) -> PredictionBaseline:
        """Return all of them, in the order of the list.

        :param model: digest of the time model.
        """
        order = {one.instance.key: number for number, one in enumerate(predictions.library.candidates)}
        problems = []
        for case, kernels in predictions.problems:
            text = case.problem.describe()
            figures = [self._figures[text, one.kernel.instance.key, one.split_k] for one in kernels]
            figures += [
                figures_of_rejected(one, split)
                for one in predictions.library.rejected
                if case.takes(one.candidate.selected())
                for split in case.splits or (1,)
            ]
            figures.sort(key=lambda one: (order[one.key], one.split_k))
            problems.append(ProblemFigures(problem=text, sizes=sizes(case.problem), kernels=tuple(figures)))
        return PredictionBaseline(
            model=model,
            gpu=predictions.device.name,
            arch=predictions.arch,
            direction=predictions.library.direction.id,
            compiler=predictions.library.recipe.compiler.description,
            problems=tuple(problems),
            loops=dict(sorted(self._loops.items())),
        )


def figures_of(kernel: KernelPrediction, loops: dict[str, tuple[LoopInstruction, ...]]) -> KernelFigures:
    """Return the figures of what was predicted, with a profile unless there is no time.

    :param loops: digest -> instructions, which gets the loop of the kernel.
    """
    time, candidate = kernel.time, kernel.kernel
    named: dict[str, Any] = {
        "key": candidate.instance.key,
        "name": candidate.name,
        "line": _line(candidate.source),
        "split_k": kernel.split_k,
    }
    if time is None:
        status = "unsupported" if kernel.answer.unsupported else "failed"
        return KernelFigures(**named, status=status, reason=kernel.answer.reason)
    profile = time.profile
    assert profile is not None  # noqa: S101 - it was asked for
    return KernelFigures(
        **named,
        status=PREDICTED,
        time_us=time.time_us,
        interval_us=kernel.interval_us,
        cycles=time.cycles,
        limit=time.limit,
        busy=_shares(time.busy),
        stalls=_shares(time.stalls),
        resident=time.resident,
        limited_by=profile.limited_by,
        lanes=prod(profile.block),
        needs=dict(time.needs),
        executed=_executed(profile.instructions),
        conflict_cycles=round(sum(one.conflict_cycles * one.executions for one in profile.instructions), 1),
        iterations=profile.iterations,
        loop=_noted(profile, loops),
    )


def figures_of_rejected(rejection: Rejection, split_k: int) -> KernelFigures:
    """Return the figures of a kernel that was not built."""
    return KernelFigures(
        key=rejection.candidate.instance.key,
        name=rejection.candidate.name,
        line=_line(rejection.candidate.source),
        split_k=split_k,
        status="not built",
        reason=rejection.reason,
    )


def _line(source: str) -> str:
    """Return the line of a list under a name that stays when the checkout moves."""
    path, colon, number = source.rpartition(":")
    return f"{lasting_name(path)}:{number}" if colon and number.isdecimal() else lasting_name(source)


def _shares(shares: Any) -> dict[str, float]:
    return {name: round(share, 4) for name, share in shares.items() if share >= 5e-5}


def _executed(instructions: tuple[ExecutedInstruction, ...]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for one in instructions:
        name = mnemonic_of(one.text)
        kind = name if one.unit in _BY_MNEMONIC or name in _SYNCHRONISING else one.unit
        counts[kind] = counts.get(kind, 0) + one.executions
    return dict(sorted(counts.items()))


def _noted(profile: KernelProfile, loops: dict[str, tuple[LoopInstruction, ...]]) -> str:
    """Add the loop to those that are known; return its digest."""
    loop = tuple(
        LoopInstruction(
            # targets of branches are addresses, which depend on what else lies in the code object
            text=mnemonic_of(one.text) if one.unit == _BRANCH else one.text,
            unit=one.unit,
            conflict_cycles=round(one.conflict_cycles, 2),
        )
        for one in profile.loop
    )
    if not loop:
        return ""
    digest = digest_parts(msgspec.json.encode(loop))[:16]
    loops[digest] = loop
    return digest


def write_baseline(baseline: PredictionBaseline, path: Path) -> None:
    """Write a baseline; each kernel and each loop is a line, so that version control shows what changed.

    :raises InputError: the file cannot be written.
    """
    head = {
        field: getattr(baseline, field)
        for field in baseline.__struct_fields__
        if field not in ("problems", "loops")
    }
    lines = [f"{_text(name)}: {_text(value)}," for name, value in head.items()]
    problems = [
        f'{{"problem": {_text(one.problem)}, "sizes": {_text(one.sizes)}, "kernels": [\n'
        + ",\n".join(map(_text, one.kernels))
        + "\n]}"
        for one in baseline.problems
    ]
    loops = [f"{_text(digest)}: {_text(loop)}" for digest, loop in baseline.loops.items()]
    text = "\n".join(
        ["{", *lines, '"problems": [', ",\n".join(problems), "],", '"loops": {', ",\n".join(loops), "}", "}"]
    )
    write_output(path, text + "\n")


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()


def read_baseline(path: Path) -> PredictionBaseline:
    """Return the baseline of a file.

    :raises InputError: it cannot be read, or is none.
    """
    what = "a baseline of 'ckprof predict --write'"
    return decoded(content_of(path), path, PredictionBaseline, what, SCHEMA, VERSION)
