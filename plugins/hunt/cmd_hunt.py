"""``ckprof hunt``: every kernel at the boundaries where faults of kernels live."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ckprof.cli import shared_options
from ckprof.cli.fields import add_fields, chosen
from ckprof.cli.instance_report import report_rejections
from ckprof.cli.outputs import Outputs, add_formats
from ckprof.errors import ExitCode, UsageError
from ckprof.measure.options import RunOptions
from ckprof.measure.requests import StoreOptions
from ckprof.model.problem_case import ProblemCase
from ckprof.problems.problem_file import line_of
from ckprof_plugins.hunt.findings import findings
from ckprof_plugins.hunt.hunt_report import HUNT_FORMATS, hunt_document
from ckprof_plugins.hunt.hunting import LARGE, ORDERS, RANGE, Hunt, HuntOptions, hunt_run_options
from ckprof_plugins.hunt.judging import large_answers, range_findings
from ckprof_plugins.hunt.large import SamplingDevice, large_findings, sampling_device
from ckprof_plugins.hunt.orders import OrderingDevice, order_findings

if TYPE_CHECKING:
    import argparse

    from ckprof.cli.session import Session
    from ckprof_plugins.hunt.findings import Finding

_EPILOG = """\
examples:
  ckprof hunt fwd --conf legacy.conf
  ckprof hunt bwd_weight --conf legacy.conf --budget 30m --store hunt.db       # rerun to resume
  ckprof hunt fwd --rule-set tiny --boundary channels,loops -o junit=hunt.xml
  ckprof hunt fwd --conf legacy.conf --target hip --device emulated --budget 2h
  ckprof hunt fwd --conf legacy.conf --target hip --boundary range             # nothing is run

Each kernel is run on problems at, one below and one above every boundary that its fields have, as far as its
own support test accepts them: once on exact and once on usual operands, verified and not timed. What fails is
made smaller, explained by a formula over the fields, and shown with the command that repeats it.

Exit code 0 when nothing was found, also when the budget was spent first (JSON: "complete": false); 1 when
something was found; 129, 130 or 143 when it was stopped by SIGHUP, Ctrl-C or SIGTERM: what was found until
then is shown.
"""

#: options of this command that choose and build kernels or run them, and that ``ckprof run`` has as well
_SHARED: Final = (
    *(
        "conf",
        "layout",
        "dtype",
        "lenient",
        "pipeline",
        "rule_set",
        "ndim",
        "upstream_defects",
        "target",
        "arch",
    ),
    *("compiler", "cxx_flags", "ck_root", "api_level", "seed", "device", "check", "plugin"),
)
_RUN: Final = ("seed", "reference", "exact", "timeout_s", "cpu_threads", "device", "checks", "launcher")


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof hunt``."""
    parser.epilog = _EPILOG
    shared_options.add_instances(parser, optional=True)
    add_fields(parser.add_argument_group("hunt"), HuntOptions)
    group = parser.add_argument_group("results")
    add_fields(group, StoreOptions, "store", "tags", required=False)
    formats = ", ".join(HUNT_FORMATS.ids)
    add_formats(group, f"format of the result: {formats} (default: table); md is ready for a bug report")
    shared_options.add_build_options(parser)
    add_fields(
        parser.add_argument_group("run"),
        RunOptions,
        *_RUN,
        defaults=hunt_run_options(session.settings.timeout),
    )


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: a list, an option, the store or the toolchain is wrong.
    """
    if arguments.tag and arguments.store is None:
        raise UsageError("--tag names outcomes in a store: it requires --store")
    directions = shared_options.chosen_directions(arguments, session)
    selection = session.profiler.instances(shared_options.chosen_query(arguments, session, directions))
    options = chosen(
        arguments,
        HuntOptions,
        store=chosen(arguments, StoreOptions) if arguments.store is not None else None,
        should_stop=lambda: session.signals.requested,
    )
    run_options = chosen(arguments, RunOptions, defaults=hunt_run_options(session.settings.timeout))
    build = shared_options.chosen_build_options(arguments)
    if LARGE in options.kinds and not sampling_device(
        session.registry, run_options.device_name, session.profiler.target(build.target).id
    ):
        _require(
            session, run_options.device_name, SamplingDevice, "large: the device runs whole problems alone"
        )
    if ORDERS in options.kinds:
        _require(
            session, run_options.device_name, OrderingDevice, "orders: the device chooses the order itself"
        )
    with Outputs(arguments, session, HUNT_FORMATS) as outputs:
        hunt = Hunt(
            session.profiler,
            selection.require(),
            build,
            run_options,
            options,
        )
        report_rejections(hunt.rejected, session.console)
        hunt.run()
        if hunt.error is None and hunt.tries(ORDERS):
            hunt.orders = order_findings(hunt)
        if hunt.error is None and (hunt.tries(RANGE) or hunt.tries(LARGE)):
            answers = large_answers(hunt)
            if hunt.tries(RANGE):
                hunt.answered, hunt.ranges = sum(map(len, answers.values())), range_findings(hunt, answers)
            if hunt.samples:
                hunt.large = large_findings(hunt, answers)
        hunt.findings = [replace(one, command=_command(one, hunt, arguments)) for one in findings(hunt)]
        with session.signals.deferred():
            outputs.deliver(hunt, hunt_document)
    if hunt.error is not None:
        raise hunt.error
    session.signals.check()
    return ExitCode.FAILED if hunt.all_findings else ExitCode.OK


def _command(finding: Finding, hunt: Hunt, arguments: argparse.Namespace) -> str | None:
    """Return the command that repeats a finding; ``None`` where no line says its problem."""
    case = ProblemCase(problem=finding.problem, direction=hunt.operation.id)
    line = line_of(case, hunt.operation)
    if not line:
        return None
    words = ["ckprof", "run", hunt.operation.id]
    for name in _SHARED:
        value = vars(arguments).get(name)
        flag = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(flag)
        elif value not in (None, False, [], ()):
            for one in value if isinstance(value, (list, tuple)) else (value,):
                words.append(f"{flag}={one}")
    number = hunt.candidates[finding.kernels[0]].index
    splits = "auto" if finding.split_k < 1 else str(finding.split_k)
    words += [
        f"--instance={number}",
        f"--split-k={splits}",
        "--min-samples=0",
        "--no-second-problem",
        f"--problem={line}",
    ]
    return shlex.join(words)


def _require(session: Session, device: str, kind: type, why: str) -> None:
    """Reject a device that a boundary cannot be tried on.

    :param device: its name; empty for one of the machine's own.
    :param kind: protocol of devices that can.
    :raises UsageError: it is another one.
    """
    able = [one.id for one in session.registry.devices if isinstance(one, kind)]
    if device.partition(":")[0] not in able:
        named = ", ".join(able) or "no package brings any"
        raise UsageError(f"--boundary {why}; name one that does not with --device: {named}")
