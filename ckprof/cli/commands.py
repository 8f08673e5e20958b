"""The table of commands. Their modules are imported only when they are called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command of ``ckprof``."""

    name: str
    #: module with ``add_arguments(parser, session)`` and ``run(arguments, session) -> ExitCode``
    module: str
    summary: str


COMMANDS: Final = (
    Command(
        name="run",
        module="ckprof.cli.cmd_run",
        summary="convert, generate, build, run, verify, time and rank the kernels of an instance list",
    ),
    Command(
        name="sweep",
        module="ckprof.cli.cmd_sweep",
        summary="measure many kernels on many problems in rounds, into a store; the same call goes on",
    ),
    Command(
        name="tune",
        module="ckprof.cli.cmd_tune",
        summary="find the best kernels for some problems without measuring them all; the same call goes on",
    ),
    Command(
        name="results",
        module="ckprof.cli.cmd_results",
        summary="look at a result store, import, export, merge, check, recover or prune it",
    ),
    Command(
        name="convert",
        module="ckprof.cli.cmd_convert",
        summary="turn legacy instance lists into JSON catalogs, check them, or write lists again",
    ),
    Command(
        name="extract",
        module="ckprof.cli.cmd_extract",
        summary="derive instance lists from an installed library, or compare it with kept lists",
    ),
    Command(
        name="explain",
        module="ckprof.cli.cmd_explain",
        summary="show what becomes of one line of an instance list, argument by argument",
    ),
    Command(
        name="generate",
        module="ckprof.cli.cmd_generate",
        summary="write the C++ sources of the kernels",
    ),
    Command(
        name="build",
        module="ckprof.cli.cmd_build",
        summary="compile the kernels into a shared library",
    ),
    Command(
        name="parity",
        module="ckprof.cli.cmd_parity",
        summary="prove that the generated instances are those that CK Builder has",
    ),
    Command(
        name="diff",
        module="ckprof.cli.cmd_diff",
        summary="compare the instances of two lists, catalogs, libraries or logs",
    ),
    Command(
        name="call",
        module="ckprof.cli.cmd_call",
        summary="run one kernel of a built library once and print everything about the run as JSON",
    ),
    Command(
        name="check-support",
        module="ckprof.cli.cmd_check_support",
        summary="ask the kernels' own tests which problems they support, without a device",
    ),
    Command(
        name="inspect",
        module="ckprof.cli.cmd_inspect",
        summary="show registers, spills, LDS, occupancy and instructions of compiled kernels",
    ),
    Command(
        name="train",
        module="ckprof.cli.cmd_train",
        summary="fit a time model to measured times, for choosing kernels without measuring",
    ),
    Command(
        name="validate",
        module="ckprof.cli.cmd_validate",
        summary="judge a time model by measured times that it has not seen",
    ),
    Command(
        name="select",
        module="ckprof.cli.cmd_select",
        summary="choose the kernels for a problem by a time model, and measure the best on request",
    ),
    Command(
        name="problems",
        module="ckprof.cli.cmd_problems",
        summary="show problem sets, convert and sample problems, collect them from logs",
    ),
    Command(
        name="compare",
        module="ckprof.cli.cmd_compare",
        summary="judge what became faster, slower or wrong between two sides of measurements",
    ),
    Command(
        name="report",
        module="ckprof.cli.cmd_report",
        summary="show a store as one HTML page, as Markdown, or as an image",
    ),
    Command(
        name="list",
        module="ckprof.cli.cmd_list",
        summary="list directions, pipelines, targets, plugins, instances or shipped lists",
    ),
    Command(
        name="plugins",
        module="ckprof.cli.cmd_plugins",
        summary="show every plugin, where it came from, its hooks and why it is not active",
    ),
    Command(
        name="doctor",
        module="ckprof.cli.cmd_doctor",
        summary="show what is found on this machine and what to install",
    ),
)
