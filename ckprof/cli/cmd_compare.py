"""``ckprof compare``: what became faster, slower or wrong between two sides of measurements."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.cli.report_file import write_report
from ckprof.cli.settle_options import add_settle_options, chosen_settling
from ckprof.errors import ExitCode, UsageError

if TYPE_CHECKING:
    import argparse

    from ckprof.cli.session import Session
    from ckprof.compare.model import FailOn
    from ckprof.statistics.change import ChangePolicy

_EPILOG: Final = """\
examples:
  ckprof compare yesterday.db results.db
  ckprof compare results.db@main results.db@branch --fail-on slower,status,missing
  ckprof compare old.db new.db --min-change 5 --format junit -o compare.xml
  ckprof compare old.db new.db --settle --conf legacy.conf --old-compiler clang++-19 --compiler clang++-22
  ckprof compare --self-test results.db

A row is one kernel with one number of splits on one problem. FASTER and SLOWER: the interval of the change
lies outside the smallest change of interest and outside of what the same kernel changes against itself. SAME:
it lies inside. UNCLEAR: neither; the table says how many rounds would settle it. Exit code 1 by --fail-on,
and whenever a kernel computes wrong numbers that did not before.
"""

_DEFAULT_FAIL_ON: Final = "slower,status"


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof compare``."""
    from ckprof.compare.model import FailOn

    parser.epilog = _EPILOG
    parser.add_argument(
        "inputs",
        nargs="+",
        metavar="OLD NEW",
        help="two stores, or files that can be imported; STORE@TAG means what was measured with that tag",
    )
    group = parser.add_argument_group("judgement")
    group.add_argument(
        "--min-change",
        type=float,
        default=2.0,
        metavar="PERCENT",
        help="smallest change of interest (default: 2)",
    )
    group.add_argument(
        "--assumed-noise",
        type=float,
        default=5.0,
        metavar="PERCENT",
        help="scatter between rounds that is assumed where too few rounds measure it (default: 5)",
    )
    group.add_argument("--direction", metavar="ID", help="compare only this direction")
    group.add_argument(
        "--fail-on",
        default=_DEFAULT_FAIL_ON,
        metavar="LIST",
        help="what makes the command exit with 1, separated by commas: "
        f"{', '.join(one.value for one in FailOn)}, or none (default: {_DEFAULT_FAIL_ON})",
    )
    group.add_argument(
        "--self-test",
        action="store_true",
        help="compare random halves of one store with each other: no row may be faster or slower",
    )
    group.add_argument(
        "--seeds", type=int, default=20, metavar="N", help="halvings of the self-test (default: 20)"
    )
    add_settle_options(parser, session)
    _add_output_options(parser, session)


def _add_output_options(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of the output."""
    group = parser.add_argument_group("output")
    formats = session.registry.comparison_formats
    group.add_argument(
        "--format",
        default="table",
        metavar="ID",
        help="output format (default: table): " + "; ".join(f"{one.id}: {one.label}" for one in formats),
    )
    group.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="write to this file, and a summary to standard error",
    )


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: an input or an option is wrong.
    """
    fail_on = _fail_on(arguments.fail_on)
    chosen = session.registry.comparison_formats.find(arguments.format)
    policy = _policy(arguments)
    if arguments.self_test:
        return _self_test(arguments, session, policy)
    if len(arguments.inputs) != 2:
        raise UsageError(f"expected two inputs, OLD and NEW, got {len(arguments.inputs)}")
    from ckprof.api.comparison import CompareOptions

    options = CompareOptions(
        policy=policy, direction=arguments.direction, settle=chosen_settling(arguments, session)
    )
    old, new = arguments.inputs
    comparison = session.profiler.compare(old, new, options)
    if not comparison.rows:
        raise UsageError("the inputs have no kernel and problem in common: nothing can be compared")
    text = chosen.render(comparison)
    if arguments.output is None:
        session.console.exact(text)
    else:
        write_report(text, arguments.output)
        counts = ", ".join(f"{count} {verdict.value}" for verdict, count in comparison.verdicts.items())
        session.console.info(f"{arguments.output}: {counts}")
    failures = comparison.failures(fail_on)
    if failures:
        session.console.info(f"failed: {', '.join(failures)}")
    return ExitCode.FAILED if failures else ExitCode.OK


def _policy(arguments: argparse.Namespace) -> ChangePolicy:
    from ckprof.statistics.change import ChangePolicy

    for name in ("min_change", "assumed_noise"):
        if not 0 < getattr(arguments, name) < 100:
            option = f"--{name.replace('_', '-')}"
            raise UsageError(
                f"{option} {getattr(arguments, name):g}: expected more than 0 and less than 100 percent"
            )
    return ChangePolicy(min_change=arguments.min_change / 100, assumed_noise=arguments.assumed_noise / 100)


def _fail_on(text: str) -> frozenset[FailOn]:
    from ckprof.compare.model import FailOn

    known = {one.value: one for one in FailOn}
    words = [word.strip() for word in text.split(",") if word.strip()]
    if words == ["none"]:
        return frozenset()
    unknown = [word for word in words if word not in known]
    if unknown or not words:
        raise UsageError(f"--fail-on: expected {', '.join(known)} or none, got {text!r}")
    return frozenset(known[word] for word in words)


def _self_test(arguments: argparse.Namespace, session: Session, policy: ChangePolicy) -> ExitCode:
    if len(arguments.inputs) != 1:
        raise UsageError(f"--self-test takes one input, got {len(arguments.inputs)}")
    if arguments.seeds < 1:
        raise UsageError(f"--seeds {arguments.seeds}: expected at least 1")
    result = session.profiler.self_test(arguments.inputs[0], range(arguments.seeds), policy)
    if not result.rows:
        raise UsageError("no kernel has two rounds: there is nothing to halve")
    least, most = result.rounds
    session.console.result(
        f"{result.false_verdicts} of {result.rows} rows are called faster or slower "
        f"between halves of {least} to {most} rounds\n"
        f"{result.found} of {result.injected} injected slowdowns of 5% were found"
    )
    return ExitCode.FAILED if result.false_verdicts > result.rows / 1000 else ExitCode.OK
