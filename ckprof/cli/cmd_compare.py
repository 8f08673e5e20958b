"""``ckprof compare``: what became faster, slower or wrong between two sides of measurements."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ckprof.cli import shared_options
from ckprof.cli.fields import add_fields, chosen
from ckprof.cli.outputs import Outputs, add_formats
from ckprof.compare.options import ChangePolicy, CompareOptions, SettleOptions
from ckprof.errors import ExitCode, UsageError
from ckprof.formatting import counted
from ckprof.option import positive

if TYPE_CHECKING:
    import argparse

    from ckprof.cli.session import Session

_EPILOG: Final = """\
examples:
  ckprof compare yesterday.db results.db
  ckprof compare results.db@main results.db@branch --fail-on slower,status,missing
  ckprof compare old.db new.db --min-change 5 --format junit -o compare.xml
  ckprof compare old.db new.db --settle --conf legacy.conf --old-compiler clang++-19 --compiler clang++-22
  ckprof compare --self-test results.db

A row is one kernel with one number of splits on one problem. FASTER and SLOWER: the change exceeds the
possible share of the machine by more than --min-change. SAME: it is smaller than that. UNCLEAR: neither can
be said; the table has the number of passes that would resolve it. SHIFTED: all rows changed alike, by the
machine or the code. Measure both sides in at least two passes, with 'ckprof sweep' (three are its default).
Exit code 1 by --fail-on, and for every newly wrong result.
"""


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof compare``."""
    parser.epilog = _EPILOG
    parser.add_argument(
        "inputs",
        nargs="+",
        metavar="OLD NEW",
        help="two stores, or files that can be imported; STORE@TAG means what was measured with that tag",
    )
    group = parser.add_argument_group("judgement")
    add_fields(group, ChangePolicy)
    add_fields(group, CompareOptions, "direction")
    group.add_argument(
        "--self-test",
        action="store_true",
        help="compare random halves of the passes of one store: no row may be faster or slower",
    )
    group.add_argument(
        "--seeds", type=positive, default=20, metavar="N", help="halvings of the self-test (default: 20)"
    )
    _add_settle_options(parser)
    group = parser.add_argument_group("output")
    add_formats(group, "format of the result (default: table): {comparison format}")


def _add_settle_options(parser: argparse.ArgumentParser) -> None:
    """Add what says which kernels are run again, and how each side is built."""
    group = parser.add_argument_group("settling")
    group.add_argument(
        "--settle",
        action="store_true",
        help="build kernels of rows that are unclear or fail for both sides, and measure them interleaved",
    )
    group.add_argument(
        "--old-compiler", metavar="COMPILER", help="compiler of the old side (default: that of the new one)"
    )
    add_fields(group, SettleOptions)
    shared_options.add_instance_options(parser)
    shared_options.add_build_options(parser)


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: an input or an option is wrong.
    """
    with Outputs(arguments, session, session.registry.comparison_formats) as outputs:
        policy = chosen(arguments, ChangePolicy)
        if arguments.self_test:
            return _self_test(arguments, session, policy)
        if len(arguments.inputs) != 2:
            raise UsageError(f"expected two inputs, OLD and NEW, got {len(arguments.inputs)}")
        settle = _settling(arguments, session) if arguments.settle else None
        options = chosen(arguments, CompareOptions, policy=policy, settle=settle)
        old, new = arguments.inputs
        comparison = session.profiler.compare(old, new, options)
        if not comparison.rows:
            raise UsageError("the inputs have no kernel and problem in common: nothing can be compared")
        from ckprof.report.comparison_text import comparison_document

        outputs.deliver(comparison, comparison_document)
        if arguments.outputs:
            counts = ", ".join(f"{count} {verdict.value}" for verdict, count in comparison.verdicts.items())
            session.console.info(f"{', '.join(str(path) for path, _ in arguments.outputs)}: {counts}")
        if comparison.failures:
            session.console.error(f"failed: {', '.join(comparison.failures)}")
        return ExitCode.FAILED if comparison.failures else ExitCode.OK


def _settling(arguments: argparse.Namespace, session: Session) -> SettleOptions:
    """Return how rows are settled."""
    query = shared_options.chosen_query(arguments, session, [])
    if not query.conf and query.rule_set is None:
        raise UsageError("--settle requires the list that the kernels come from: --conf or --rule-set")
    new = shared_options.chosen_build_options(arguments)
    return chosen(
        arguments,
        SettleOptions,
        query=query,
        old=replace(new, compiler=arguments.old_compiler or new.compiler, build_dir=None),
        new=new,
    )


def _self_test(arguments: argparse.Namespace, session: Session, policy: ChangePolicy) -> ExitCode:
    if len(arguments.inputs) != 1:
        raise UsageError(f"--self-test takes one input, got {len(arguments.inputs)}")
    result = session.profiler.self_test(arguments.inputs[0], range(arguments.seeds), policy)
    least, most = result.passes
    session.console.result(
        f"{result.false_verdicts} of {counted(result.rows, 'row')} are called faster or slower "
        f"between halves of {least} to {most} passes\n"
        f"{result.found} of {result.injected} injected slowdowns of 5 % were found"
    )
    if 2 * result.found < result.injected:
        session.console.info("a slowdown of 5% would not be found: measure more passes, with --passes")
    return ExitCode.OK if result.passed else ExitCode.FAILED
