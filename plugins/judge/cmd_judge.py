"""``ckprof judge``: one verdict on any kernel."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ckprof.cli import shared_options
from ckprof.cli.fields import add_fields, chosen
from ckprof.cli.outputs import Outputs, add_formats
from ckprof.errors import ExitCode, InputError, UsageError
from ckprof.files import scratch_folder
from ckprof.kernels.requests import BuildOptions
from ckprof.measure.baselines import baseline_sources
from ckprof.measure.requests import RunPlanOptions
from ckprof.model.types import DataType, types_on
from ckprof.problems.choose import parse_problems
from ckprof_plugins.judge.candidate import OpenRequest, open_candidate, split_name
from ckprof_plugins.judge.described_kernel import SUFFIX as DESCRIPTION_SUFFIX
from ckprof_plugins.judge.described_kernel import compiled_for_device, described
from ckprof_plugins.judge.judge_report import JUDGE_FORMATS, judge_document
from ckprof_plugins.judge.judging import Judge
from ckprof_plugins.judge.library_kernel import chosen_kernel
from ckprof_plugins.judge.new import write_template
from ckprof_plugins.judge.operands import Place, Task
from ckprof_plugins.judge.timing import time_candidate
from ckprof_plugins.judge.verdicts import JudgeOptions, Verdict

if TYPE_CHECKING:
    import argparse

    from ckprof.cli.session import Session
    from ckprof.model.problem_case import ProblemCase
    from ckprof.plugin.protocols import Operation

_EPILOG = """\
examples:
  ckprof judge fwd --new my_kernel.py                        # a template that is right as it is
  ckprof judge fwd my_kernel.py --problem "conv -n 4 -c 64 -H 28 -W 28 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1"
  ckprof judge gemm fast.cpp --problem 512x512x512 --baseline torch --fail-on slower=5%
  ckprof judge fwd libmine.so:my_entry --dtype fp16 --store results.db --budget 10m --format json

FILE is Python (.py; a function that takes operands as arrays by their names and returns the result), C or C++
with the entry of ckprof_candidate.h (.c, .cc, .cpp, .cxx, .hip), a shared library with that entry (.so), or
the description of a code object's launch (.json; with --device). With --device, a .hip is compiled for a GPU,
and Python gets tensors of torch on an NVIDIA GPU.
It runs in a process of its own, which is stopped between launches; clock and comparison are in others.

Exit code 0: right; 1: wrong, dishonest, a problem not supported, or what --fail-on names; 3: a file or line
that cannot be read, compiled or loaded.
"""

#: type of elements where neither line nor option says it
_USUAL: Final = DataType.FP16
_USUAL_DIMENSIONS: Final = 2
#: options of builds that are options here
_BUILDING: Final = ("compiler", "cxx_flags", "ck_root", "arch")


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof judge``."""
    parser.epilog = _EPILOG
    shared_options.add_direction(parser)
    parser.add_argument("file", nargs="?", metavar="FILE[:FUNCTION]", help="the candidate")
    parser.add_argument(
        "--new", type=Path, metavar="FILE", help="write a template of a candidate instead: .py or .cpp"
    )
    group = parser.add_argument_group("judgement")
    add_fields(group, RunPlanOptions, "problems")
    group.add_argument(
        "--dtype", metavar="NAME", help="type of the operands (default: what a line says, else fp16)"
    )
    group.add_argument(
        "--layout", metavar="NAME", help="memory order of the tensors (default: the usual one)"
    )
    add_fields(group, RunPlanOptions, "baselines")
    group.add_argument(
        "--store",
        type=Path,
        metavar="DB",
        help="compare with the fastest kernel that this result store knows",
    )
    add_fields(group, JudgeOptions)
    add_fields(parser.add_argument_group("build"), BuildOptions, *_BUILDING)
    formats = ", ".join(JUDGE_FORMATS.ids)
    add_formats(parser.add_argument_group("results"), f"format of the result: {formats} (default: table)")


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: an option, the candidate, a problem, the store or the toolchain is wrong.
    """
    operation = session.registry.operation(arguments.direction)
    cases, task = _task(arguments, session, operation)
    if arguments.new is not None:
        if arguments.file is not None:
            raise UsageError("--new writes a file: name no other one")
        write_template(task, cases[0].problem, arguments.new)
        session.console.info(f"wrote {arguments.new}: ckprof judge {operation.id} {arguments.new}")
        return ExitCode.OK
    if arguments.file is None:
        raise UsageError("no FILE given; --new FILE writes a template")
    if arguments.store is not None and not arguments.store.exists():
        raise InputError("no such file, expected a result store", arguments.store)
    options = chosen(arguments, JudgeOptions)
    build = chosen(arguments, BuildOptions, *_BUILDING)
    path, function = split_name(arguments.file)
    started = time.monotonic()
    baselines = baseline_sources(session.profiler, tuple(arguments.baseline or ()), None)
    with Outputs(arguments, session, JUDGE_FORMATS) as outputs, scratch_folder() as folder:
        request = OpenRequest(
            path=path,
            function=function,
            folder=folder,
            compiler=build.compiler,
            cxx_flags=build.cxx_flags,
            **({} if options.budget_s is None else {"limit_s": max(1.0, options.budget_s)}),
        )
        is_built_here = path.suffix == DESCRIPTION_SUFFIX or (
            path.suffix == ".hip" and options.device is not None
        )
        if is_built_here:
            if path.suffix == DESCRIPTION_SUFFIX:
                candidate = described(session.profiler, path, task, options, folder, build)
            else:
                candidate = compiled_for_device(session.profiler, request, task, options, build)
            # what was built until now is ckprof's own
            started = time.monotonic()
        else:
            candidate = open_candidate(request)
        if candidate.kind == "kernels":
            named = bool(arguments.dtype or arguments.layout)
            candidate, task = chosen_kernel(session.profiler, candidate, task, options, is_chosen=named)
            if is_built_here:
                candidate = replace(candidate, function=function)
        elif candidate.kind == "python" and isinstance(options.device, int):
            candidate = replace(candidate, gpu=options.device)
        elif options.device is not None:
            raise UsageError(
                "--device is for Python on an NVIDIA GPU (its index), code objects, HIP sources, and "
                "libraries that 'ckprof build' made"
            )
        task = replace(task, folder=folder)
        places = [Place(case.problem, case.split_k or 1) for case in cases]
        judge = Judge(session.profiler, candidate, task, places, options, folder, started)
        judge.run()
        if judge.verdict is Verdict.RIGHT:
            time_candidate(judge, baselines, arguments.store)
        judge.candidate.check_unchanged()
        with session.signals.deferred():
            outputs.deliver(judge, judge_document)
    session.signals.check()
    is_good = judge.verdict is Verdict.RIGHT and not judge.shortcomings
    return ExitCode.OK if is_good else ExitCode.FAILED


def _task(
    arguments: argparse.Namespace, session: Session, operation: Operation
) -> tuple[list[ProblemCase], Task]:
    """Return the problems, and what candidates for them are judged by.

    :raises UsageError: problems, type and layout do not fit together.
    """
    usual = operation.default_problem
    lines = arguments.problem or [usual.get(_USUAL_DIMENSIONS) or next(iter(usual.values()))]
    cases = [*parse_problems(session.profiler, operation, lines).named]
    first: Any = cases[0].problem
    if any(case.problem.ndim != first.ndim or type(case.problem) is not type(first) for case in cases):
        raise UsageError("--problem: a candidate is judged on problems of the same kind and dimensions")
    named = arguments.dtype and DataType.parse(arguments.dtype)
    dtype = named or cases[0].dtype or cases[0].usual_dtype or _USUAL
    layouts = [layout for layout in operation.layouts if layout.ndim == first.ndim]
    wanted = arguments.layout or cases[0].layout
    if wanted is not None:
        layouts = [layout for layout in layouts if layout.name == wanted.lower()]
    if not layouts:
        known = ", ".join(layout.name for layout in operation.layouts if layout.ndim == first.ndim)
        raise UsageError(f"--layout {wanted}: expected {known} for such problems")
    types = types_on(operation.types(dtype), "")
    names = tuple(operation.tensors_of(first))
    task = Task(operation=operation, types=types, layout=layouts[0], names=names)
    for case in cases:
        unmet = case.problem.unmet_by(task.layout)
        if unmet is not None:
            raise InputError(unmet.message, "--problem")
    return cases, task
