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
    #: what it is for: commands of one task stand together in help
    task: str
    #: common options, and metavars of positional arguments: ``--help`` shows these alone, and
    #: ``--help-all`` all; empty for commands whose help is short enough
    first: str = ""


COMMANDS: Final = (
    Command(
        name="run",
        module="ckprof.cli.cmd_run",
        summary="convert, generate, build, run, verify, time and rank the kernels of an instance list",
        task="profile",
        first=(
            "DIRECTION --conf --tree --problem --problems --problem-set --filter --instance "
            "--target --best --why --list-instances --format --json --store"
        ),
    ),
    Command(
        name="list",
        module="ckprof.cli.cmd_list",
        summary="list directions, pipelines, targets, plugins, instances or shipped lists",
        task="profile",
    ),
    Command(
        name="explain",
        module="ckprof.cli.cmd_explain",
        summary="show what becomes of one line of an instance list, argument by argument",
        task="profile",
    ),
    Command(
        name="sweep",
        module="ckprof.cli.cmd_sweep",
        summary="measure many kernels on many problems in rounds, into a store; the same call goes on",
        task="measure at scale",
        first=(
            "DIRECTION --conf --rule-set --problems --problem-set --batch --filter --target "
            "--store --budget --dry-run --retry-failed --sessions --tag"
        ),
    ),
    Command(
        name="results",
        module="ckprof.cli.cmd_results",
        summary="look at a result store, import, export, merge, check, recover or prune it",
        task="measure at scale",
    ),
    Command(
        name="compare",
        module="ckprof.cli.cmd_compare",
        summary="judge what became faster, slower or wrong between two sides of measurements",
        task="measure at scale",
        first="OLD NEW --fail-on --min-change --settle --self-test --direction --conf --format -o",
    ),
    Command(
        name="report",
        module="ckprof_plugins.pages.command",
        summary="show a store as one HTML page, as Markdown, or as an image",
        task="measure at scale",
    ),
    Command(
        name="predict",
        module="ckprof_plugins.tuning.cmd_predict",
        summary="rank kernels by times that follow from their machine code, without a device",
        task="choose",
        first=(
            "DIRECTION --conf --rule-set --problem --problems --problem-set --filter --instance "
            "--gpu --hot --target --arch --format"
        ),
    ),
    Command(
        name="tune",
        module="ckprof_plugins.tuning.cmd_tune",
        summary="find the best kernels for some problems without measuring them all; the same call goes on",
        task="choose",
        first=(
            "DIRECTION --conf --rule-set --dtype --problems --problem-set --batch --target "
            "--store --budget --kernels --tie --model --baseline --replay --emit --format"
        ),
    ),
    Command(
        name="train",
        module="ckprof_plugins.tuning.cmd_train",
        summary="fit a time model to measured times, for choosing kernels without measuring",
        task="choose",
    ),
    Command(
        name="validate",
        module="ckprof_plugins.tuning.cmd_validate",
        summary="judge a time model by measured times that it has not seen",
        task="choose",
    ),
    Command(
        name="select",
        module="ckprof_plugins.tuning.cmd_select",
        summary="choose the kernels for a problem by a time model, and measure the best on request",
        task="choose",
        first="DIRECTION --model --problem --conf --rule-set --filter --top --measure --target --format",
    ),
    Command(
        name="convert",
        module="ckprof.cli.cmd_convert",
        summary="turn legacy instance lists into JSON catalogs, check them, or write lists again",
        task="convert and prove",
    ),
    Command(
        name="extract",
        module="ckprof_plugins.extract.command",
        summary="derive instance lists from an installed library, or compare it with kept lists",
        task="convert and prove",
    ),
    Command(
        name="parity",
        module="ckprof.cli.cmd_parity",
        summary="prove that the generated instances are those that CK Builder has",
        task="convert and prove",
        first="DIRECTION --conf --tree --all --against --library --locked --write --fail-on --format",
    ),
    Command(
        name="diff",
        module="ckprof.cli.cmd_diff",
        summary="compare the instances of two lists, catalogs, libraries or logs",
        task="convert and prove",
    ),
    Command(
        name="audit",
        module="ckprof_plugins.consumers.audit_command",
        summary="judge databases of tuned results: will each row be used, and is it right",
        task="use elsewhere",
    ),
    Command(
        name="upgrade",
        module="ckprof_plugins.consumers.upgrade_command",
        summary="show what changes between two libraries or compilers, and which rows that affects",
        task="use elsewhere",
        first=(
            "DIRECTION --old --new --database --conf --rule-set --instance --problem --problems --target "
            "--arch --fail-on --format -o"
        ),
    ),
    Command(
        name="identify",
        module="ckprof_plugins.consumers.identify_command",
        summary="say which instance a kernel of a trace, a log or a database is",
        task="use elsewhere",
    ),
    Command(
        name="export",
        module="ckprof_plugins.consumers.export_command",
        summary="write verified winners into databases of programs that use them",
        task="use elsewhere",
    ),
    Command(
        name="import",
        module="ckprof_plugins.consumers.import_command",
        summary="read times of such databases into a store",
        task="use elsewhere",
    ),
    Command(
        name="generate",
        module="ckprof.cli.cmd_generate",
        summary="write the C++ sources of the kernels",
        task="build and embed",
        first="DIRECTION --conf --rule-set --filter --instance --target --arch --build-dir",
    ),
    Command(
        name="build",
        module="ckprof.cli.cmd_build",
        summary="compile the kernels into a shared library",
        task="build and embed",
        first="DIRECTION --conf --rule-set --filter --instance --target --arch --jobs --build-dir --link",
    ),
    Command(
        name="call",
        module="ckprof.cli.cmd_call",
        summary="run one kernel of a built library once and print everything about the run as JSON",
        task="build and embed",
    ),
    Command(
        name="check-support",
        module="ckprof.cli.cmd_check_support",
        summary="ask the kernels' own tests which problems they support, without a device",
        task="build and embed",
        first=(
            "DIRECTION --conf --rule-set --filter --instance --problem --problems --problem-set --random "
            "--split-k --target --format"
        ),
    ),
    Command(
        name="inspect",
        module="ckprof.cli.cmd_inspect",
        summary="show registers, spills, LDS, occupancy and instructions of compiled kernels",
        task="build and embed",
        first=(
            "DIRECTION|DIR|REPORT --conf --rule-set --filter --instance --problem --page --gpu "
            "--target --arch --where --sort --diff --format"
        ),
    ),
    Command(
        name="problems",
        module="ckprof.cli.cmd_problems",
        summary="show problem sets, convert and sample problems, collect them from logs",
        task="look up",
    ),
    Command(
        name="plugins",
        module="ckprof.cli.cmd_plugins",
        summary="show every plugin, where it came from, its hooks and why it is not active",
        task="look up",
    ),
    Command(
        name="doctor",
        module="ckprof.cli.cmd_doctor",
        summary="show what is found on this machine and what to install",
        task="look up",
    ),
)
