"""``ckprof upgrade``: what changes from one library or compiler to the next, as text, JSON and JUnit XML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ckprof.cli import shared_options
from ckprof.cli.fields import add_fields, chosen
from ckprof.cli.outputs import Outputs, add_outputs
from ckprof.cli.run_options import add_problem_options, given_problems, parsed_problems
from ckprof.cli.shared_options import add_instance_options, chosen_query
from ckprof.errors import ExitCode, UsageError
from ckprof.formatting import agreeing, counted
from ckprof.report.ci import JUnit
from ckprof.report.document import Document
from ckprof.report.table import Column, Table
from ckprof.sanitize import json_text
from ckprof_plugins.consumers.audit import SHOWN, FileUse, add_case, formats
from ckprof_plugins.consumers.upgrade import UpgradeCall, upgrade
from ckprof_plugins.consumers.upgrade_changes import UpgradePart
from ckprof_plugins.extract.cmd_extract import change_lines
from ckprof_plugins.extract.lists import comparison_values

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from ckprof.cli.session import Session
    from ckprof.kernels.choose import Selection
    from ckprof.kernels.inspection import FigureChange
    from ckprof.model.problem_case import ProblemCase
    from ckprof.report.document import Part
    from ckprof_plugins.consumers.upgrade import Upgrade


_EPILOG = """\
examples:
  ckprof upgrade --old /opt/rocm-6.4 --new /opt/rocm-7.2                 # lists of both libraries
  ckprof upgrade --old old.deb --new new.deb --database ~/.config/miopen # and which rows they affect
  ckprof upgrade bwd_weight --old ck-july --new ck-november --conf legacy.conf --target hip --arch gfx942 \\
      --problems problems.txt
  ckprof upgrade fwd --old clang++-19 --new clang++-22 --conf legacy.conf --target hip --arch gfx942

Nothing is run. Lists are derived as by 'ckprof extract'; kernels are compiled for both sides and compared as
by 'ckprof inspect --diff'; problems are asked about as by 'ckprof check-support'; databases are judged as by
'ckprof audit', by the lists of either side. What a side does not have is named and not compared. Exit code 0:
nothing is affected, 1: something has changed that --fail-on names, 2: wrong usage, 3: a side or a database
that cannot be read, 5: kernels that cannot be built.
"""


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof upgrade``."""
    parser.epilog = _EPILOG
    shared_options.add_direction(parser, optional=True)
    add_fields(parser.add_argument_group("sides"), UpgradeCall, "old", "new", "databases")
    add_instance_options(parser)
    add_problem_options(parser)
    shared_options.add_build_options(parser)
    add_fields(parser.add_argument_group("device of the databases"), FileUse, "compute_units")
    group = parser.add_argument_group("result")
    add_fields(group, UpgradeCall, "fail_on")
    group.add_argument(
        "--format",
        default="text",
        choices=UPGRADE_FORMATS.ids,
        help="format of the result (default: text); text shows some changes of each kind",
    )
    add_outputs(group)


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: a side, a database, a list, an option or the toolchain is wrong.
    """
    selection = _selection(arguments, session)
    problems: tuple[ProblemCase, ...] = ()
    if selection is not None:
        operation = session.registry.operation(selection.direction)
        problems = tuple(parsed_problems(arguments, session, operation))
    elif given_problems(arguments, session) or arguments.problems:
        raise UsageError("problems are asked about of kernels: name some with --conf or --rule-set")
    call = chosen(
        arguments,
        UpgradeCall,
        selection=selection,
        problems=problems,
        build=shared_options.chosen_build_options(arguments),
        arch=arguments.arch or "",
        compute_units=arguments.compute_units,
    )
    with Outputs(arguments, session, UPGRADE_FORMATS) as outputs:
        found = upgrade(session.profiler, call)
        outputs.deliver(found, upgrade_document)
    return ExitCode.OK if found.passed else ExitCode.FAILED


def _selection(arguments: argparse.Namespace, session: Session) -> Selection | None:
    if not arguments.conf and not arguments.rule_set:
        if arguments.direction:
            raise UsageError("a DIRECTION is of kernels that are built: name some with --conf or --rule-set")
        return None
    directions = [arguments.direction] if arguments.direction else []
    if arguments.rule_set and not directions:
        raise UsageError("--rule-set needs a DIRECTION")
    return session.profiler.instances(chosen_query(arguments, session, directions)).require()


SCHEMA: Final = "ckprof.upgrade"
VERSION: Final = 1


def upgrade_document(found: Upgrade) -> Document:
    """Return a summary by part, and the first changes of each."""
    parts: list[Part] = [f"old: {found.old}\nnew: {found.new}\ncompared: {', '.join(found.judged)}"]
    if found.notes:
        parts.append("\n".join(f"not compared: {note}" for note in found.notes))
    counts = found.counts
    if any(counts.values()):
        rows = [(part, count) for part, count in counts.items() if count]
        parts.append(
            Table(
                [
                    Column("changes", lambda row: row[1], align="right"),
                    Column("part", lambda row: row[0].value),
                    Column("", lambda row: row[0].meaning, whole_below=True),
                ],
                rows,
            )
        )
    texts = _texts(found)
    # worse code stands among the code
    del texts[UpgradePart.WORSE_CODE]
    for part, lines in texts.items():
        shown = lines if part is UpgradePart.LISTS else lines[:SHOWN]
        if len(lines) > len(shown):
            shown = [*shown, f"... and {len(lines) - SHOWN} more; --format json has all of them"]
        if part is UpgradePart.CODE and lines:
            parts.append(_code_table(found.code))
        elif shown:
            parts.append("\n".join(shown))
    parts.append(verdict(found))
    return Document(parts)


def _code_table(changes: Sequence[FigureChange]) -> Table[FigureChange]:
    ordered = sorted(changes, key=lambda one: (not one.worse, one.name, one.field))
    return Table(
        [
            Column("", lambda one: "worse" if one.worse else ""),
            Column("figure", lambda one: one.field),
            Column("old", lambda one: one.before),
            Column("new", lambda one: one.after),
            Column("kernel", lambda one: one.name, names=lambda one: one.name),
        ],
        ordered,
    )


def _texts(found: Upgrade) -> dict[UpgradePart, list[str]]:
    """Return one line for each change, by part."""
    texts = {part: [one.text for one in found.of(part)] for part in UpgradePart}
    texts[UpgradePart.LISTS] = [line for one in found.lists if not one.is_same for line in change_lines(one)]
    texts[UpgradePart.CODE] = [_code_line(one) + (", worse" if one.worse else "") for one in found.code]
    texts[UpgradePart.WORSE_CODE] = [_code_line(one) for one in found.code if one.worse]
    return texts


def _code_line(one: FigureChange) -> str:
    return f"{one.name}: {one.field} {one.before} -> {one.after}"


def verdict(found: Upgrade) -> str:
    """Return one line that says what the exit code means."""
    # what is among another part that fails the gate as well is counted once
    twice = {UpgradePart.WORSE_CODE} if UpgradePart.CODE in found.fail_on else set()
    failing = sum(found.counts[part] for part in found.fail_on - twice)
    total = sum(count for part, count in found.counts.items() if part is not UpgradePart.WORSE_CODE)
    if failing:
        return f"{counted(failing, 'change')} {agreeing(failing, 'fails', 'fail')} the gate, {total} in all"
    return f"{counted(total, 'change')}, none of which fails the gate" if total else "nothing is affected"


def render_text(found: Upgrade) -> str:
    """Render as text of any width."""
    return upgrade_document(found).text()


def render_json(found: Upgrade) -> str:
    """Render all changes."""
    values: dict[str, Any] = {
        "schema": SCHEMA,
        "version": VERSION,
        "passed": found.passed,
        "old": found.old,
        "new": found.new,
        "judged": list(found.judged),
        "notes": list(found.notes),
        "counts": {part.value: count for part, count in found.counts.items()},
        "lists": [comparison_values(one) for one in found.lists],
        "kernels": [one.values for one in found.of(UpgradePart.KERNELS)],
        "splits": [one.values for one in found.of(UpgradePart.SPLITS)],
        "support": [one.values for one in found.of(UpgradePart.SUPPORT)],
        "code": [
            {"kernel": one.name, "figure": one.field, "old": one.before, "new": one.after, "worse": one.worse}
            for one in found.code
        ],
        "rows": [one.values for one in found.of(UpgradePart.ROWS)],
    }
    return json_text(values, 1) + "\n"


def render_junit(found: Upgrade) -> str:
    """Render one case per part: what has changed is the text of the case."""
    junit = JUnit("ckprof upgrade")
    suite = junit.suite("upgrade")
    texts = _texts(found)
    for part, count in found.counts.items():
        about = f"{count} {part.meaning}"
        add_case(junit, suite, part.value, texts[part], about, fails=part in found.fail_on)
    return junit.render()


#: every format
UPGRADE_FORMATS: Final = formats(
    "upgrade format", {"text": render_text, "json": render_json, "junit": render_junit}
)
