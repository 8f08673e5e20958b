"""A judgement as a page of text, Markdown, and JSON with digests of everything that was judged."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ckprof.formatting import counted
from ckprof.model.problem_case import ProblemCase
from ckprof.option import limits_text
from ckprof.plugin.additions import RegistryEntries
from ckprof.plugin.protocols import ComparisonFormat
from ckprof.problems.problem_file import line_of
from ckprof.report.document import Block, Document, Items
from ckprof.version import __version__

if TYPE_CHECKING:
    from ckprof_plugins.judge.judging import Judge
    from ckprof_plugins.judge.operands import Place
    from ckprof_plugins.judge.timing import Comparison, Time
    from ckprof_plugins.judge.verdicts import Finding

SCHEMA: Final = "ckprof.judge"
VERSION: Final = 1


def judge_document(judge: Judge) -> Document:
    """Return the verdict, what it rests on, and how fast the candidate is."""
    document = Document([f"{judge.candidate.title}: {judge.verdict.value}{_speed(judge)}"])
    if judge.finding is not None:
        document.add(*_finding(judge, judge.finding))
    else:
        document.add(
            Items(
                (
                    _tried(judge),
                    *_sanitized(judge),
                    *_refusals(judge),
                    *_isolation(judge),
                    *_elsewhere(judge),
                    *map(_time, judge.times),
                )
            )
        )
        for one in judge.comparisons:
            document.add(_comparison(one))
    if judge.shortcomings:
        document.add(f"failed: {', '.join(judge.shortcomings)}")
    return document


def _speed(judge: Judge) -> str:
    said = dict.fromkeys(f"{one.relation} than {one.name}" for one in judge.comparisons)
    return "".join(f", {text.replace('tied than', 'tied with')}" for text in said)


def _finding(judge: Judge, finding: Finding) -> list[Any]:
    where = _described(judge, finding.place)
    found = "" if finding.place == finding.found_on else _described(judge, finding.found_on)
    items = [
        f"problem: {where}",
        *([f"found on: {found}"] if found else []),
        f"at: {finding.kind}, {finding.operands.text}",
        *([f"right in {counted(judge.launches, 'launch', 'launches')}"] if judge.launches else []),
    ]
    return [finding.evidence, Items(tuple(items)), Block((command(judge, finding),))]


def _described(judge: Judge, place: Place) -> str:
    return place.problem.describe() + (f", split_k {place.split_k}" if place.split_k != 1 else "")


def command(judge: Judge, finding: Finding) -> str:
    """Return the command that judges the same again, on the smallest problem."""
    case = ProblemCase(problem=finding.place.problem, direction=judge.task.operation.id)
    line = line_of(case, judge.task.operation)
    path, function = judge.candidate.path, judge.candidate.function
    name = f"{path}:{function}" if function else str(path)
    words = ["ckprof", "judge", judge.task.operation.id, name, f"--problem={line}"]
    words += [f"--dtype={judge.task.types.operands[0].value}", f"--layout={judge.task.layout.name}"]
    words += [f"--seed={judge.seed}"]
    if judge.options.device is not None:
        words += [f"--device={judge.options.device}", *(f"--check={one}" for one in judge.options.checks)]
        # what is compiled for it
        words += [f"--arch={judge.candidate.arch}"] if path.suffix == ".hip" else []
    return shlex.join(words) if line else "no line can say this problem; --format json has its sizes"


def _tried(judge: Judge) -> str:
    tried = len(judge.right) + len(judge.refused)
    all_of = f"{tried} of {counted(len(judge.planned), 'further problem')}"
    end = "" if judge.complete else ", then the budget was spent"
    return f"{counted(judge.launches, 'launch', 'launches')} verified one by one; {all_of} tried{end}"


def _isolation(judge: Judge) -> list[str]:
    known = "this kernel has no Landlock: nothing keeps a candidate from looking into other processes"
    return [] if judge.isolation else [known]


def _elsewhere(judge: Judge) -> list[str]:
    return [] if judge.is_run_elsewhere else ["not run outside of the judge's processes"]


def _sanitized(judge: Judge) -> list[str]:
    return [f"no report of sanitizers: {', '.join(judge.sanitizers)}"] if judge.sanitizers else []


def _refusals(judge: Judge) -> list[str]:
    kinds = Counter(one.kind for one in judge.refused)
    said = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
    return [f"not supported: {counted(len(judge.refused), 'problem')} ({said})"] if said else []


def _time(time: Time) -> str:
    measured = f"{time.time_ms:.4g} ms ({time.low_ms:.4g} to {time.high_ms:.4g})"
    seen = f"timed launches verified: {time.checked} of {time.launches}"
    return f"{measured} on {time.place.problem.describe()}; {seen}"


def _comparison(one: Comparison) -> str:
    most = f"{1 / one.low:.2f}" if one.low else "any"
    times = f"{1 / one.ratio:.2f}x ({1 / one.high:.2f} to {most})"
    how = "same rounds" if one.paired else "measured at other times"
    return f"{times} the speed of {one.name}, {one.time_ms:.4g} ms, {how}: {one.what}"


def _place(judge: Judge, place: Place) -> dict[str, Any]:
    case = ProblemCase(problem=place.problem, direction=judge.task.operation.id)
    return {
        "problem": msgspec.to_builtins(place.problem),
        "split_k": place.split_k,
        "line": line_of(case, judge.task.operation),
    }


def values(judge: Judge) -> dict[str, Any]:
    """Return everything as plain JSON values."""
    task, candidate, finding = judge.task, judge.candidate, judge.finding
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "verdict": judge.verdict.value,
        "complete": judge.complete,
        "shortcomings": judge.shortcomings,
        "fail_on": limits_text(judge.options.fail_on),
        "candidate": {
            "file": str(candidate.path),
            "function": candidate.function,
            "kind": candidate.kind,
            "sha256": candidate.digests,
            "built_by": candidate.built_by,
        },
        "judge": {
            "ckprof": __version__,
            "direction": task.operation.id,
            "dtype": task.types.operands[0].value,
            "types": task.types.text,
            "layout": task.layout.name,
            "seed": judge.seed,
            "budget_s": judge.options.budget_s,
            "device": judge.device,
            "isolation": judge.isolation,
            "hand_over_ms": judge.hand_over_ms,
        },
        "asked": [_place(judge, place) for place in judge.asked],
        "finding": None
        if finding is None
        else {
            **_place(judge, finding.place),
            "evidence": finding.evidence,
            "status": finding.outcome.status.value,
            "kind": finding.kind,
            "exact_operands": finding.operands.exact,
            "operands_seed": finding.operands.seed,
            "found_on": _place(judge, finding.found_on),
            "command": command(judge, finding),
        },
        "sanitizers": judge.sanitizers,
        "run_elsewhere": judge.is_run_elsewhere,
        "launches": judge.launches,
        "planned": len(judge.planned),
        "right": Counter(one.kind for one in judge.right),
        "refused": [
            {"kind": one.kind, "at": one.formula, **_place(judge, one.place)} for one in judge.refused
        ],
        "times": [
            {
                **_place(judge, one.place),
                **{
                    name: getattr(one, name)
                    for name in ("time_ms", "low_ms", "high_ms", "launches", "checked")
                },
            }
            for one in judge.times
        ],
        "comparisons": [
            {
                **_place(judge, one.place),
                **{
                    name: getattr(one, name)
                    for name in ("name", "what", "time_ms", "ratio", "low", "high", "paired")
                },
                "relation": one.relation,
            }
            for one in judge.comparisons
        ],
    }


_RENDERERS: Final[dict[str, Callable[[Judge], str]]] = {
    "table": lambda judge: judge_document(judge).text(),
    "json": lambda judge: json.dumps(values(judge), indent=1) + "\n",
    "md": lambda judge: judge_document(judge).markdown(),
}
JUDGE_FORMATS: Final = RegistryEntries(
    "judge format",
    [(id_, "judge", ComparisonFormat(id=id_, label=id_, render=one)) for id_, one in _RENDERERS.items()],
)
