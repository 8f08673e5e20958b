"""``ckprof identify``: which instance a kernel of a trace, a log or a database is."""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct, to_builtins
from msgspec.structs import replace

from ckprof.cli.fields import add_fields, add_format
from ckprof.errors import CkprofError, ExitCode, InputError
from ckprof.formatting import counted
from ckprof.model.problem_case import ProblemCase
from ckprof.model.strings.rendering import StringError
from ckprof.problems.from_log import LogProblems
from ckprof.problems.problem_file import line_of
from ckprof.report.document import Document
from ckprof.sanitize import json_text, one_line
from ckprof_plugins.consumers.audit import FileUse, candidates_by_line, kernel_lists
from ckprof_plugins.consumers.log_lines import calls_in, heads_of, identifiers, printed_by_profiler, texts_of
from ckprof_plugins.consumers.protocols import CONSUMERS

if TYPE_CHECKING:
    import argparse

    from ckprof.cli.session import Session
    from ckprof.kernels.candidates import Candidate
    from ckprof.model.strings.kind import ParsedString
    from ckprof.plugin.registry import Registry


class InstanceMatch(Struct, frozen=True, kw_only=True, gc=False):
    """One instance that a text may mean."""

    #: ``list:line``
    source: str
    #: the line; empty for one that is not kept as text
    line: str = ""
    #: name of the kernel that ckprof generates for it; empty where it generates none
    kernel: str = ""
    instance_string: str = ""
    #: what runs and verifies it; empty where it cannot be run
    command: str = ""
    #: why there is no command
    note: str = ""


class Identified(Struct, frozen=True, kw_only=True, gc=False):
    """What a text means."""

    text: str = ""
    #: ``file:line`` or empty
    where: str = ""
    #: how often it occurs in a trace
    count: int = 1
    what: str = ""
    direction: str = ""
    #: line of the problem that the text says
    problem: str = ""
    matches: tuple[InstanceMatch, ...] = ()
    note: str = ""


class Identifier:
    """Looks texts up in lists.

    :param names: of lists and folders; all that ship with ckprof if there are none.
    :raises InputError: a list cannot be read.
    """

    def __init__(self, registry: Registry, names: tuple[str, ...] = ()) -> None:
        self.registry = registry
        self.lists = kernel_lists(names)
        self._candidates: dict[str, dict[str, Candidate]] = {}
        #: where a line stands -> the line, and the other way round
        self._lines = {f"{one.path}:{number}": line for one in self.lists for number, line in one.lines}
        self._sources: dict[str, list[str]] = defaultdict(list)
        for source, line in self._lines.items():
            self._sources[line].append(source)
        self._found: dict[str, Identified] = {}

    def identify(self, text: str, where: str = "", count: int = 1) -> Identified:
        """Say what a text means."""
        if text not in self._found:
            self._found[text] = self._identified(text)
        found = self._found[text]
        return replace(found, text=text, where=where, count=count)

    def _identified(self, text: str) -> Identified:
        sightings = [
            sighting
            for consumer in self.registry.entries(CONSUMERS)
            for sighting in consumer.sightings(text, self.lists)
        ]
        if not sightings:
            found = (
                self._of_line(text.strip())
                or self._of_string_inside(text)
                or self._of_kernel_name(text)
                or self._of_command(text)
            )
            return found or Identified(note="names no known kernel")
        # the one that says most
        best = max(sightings, key=lambda one: (bool(one.lines), one.problem is not None))
        problem = ""
        if best.problem is not None:
            direction, layout = best.direction or None, best.layout or None
            problem = self._problem_line(
                ProblemCase(problem=best.problem, direction=direction, dtype=best.dtype, layout=layout)
            )
        return Identified(
            what=best.what,
            direction=best.direction,
            problem=problem,
            matches=tuple(self._match(source, problem) for source in best.lines),
            note=_notes(best.note, printed_by_profiler(text)),
        )

    def _of_string_inside(self, text: str) -> Identified | None:
        """Look up the first instance string in a line that has more than that."""
        for name in calls_in(text, self._heads) if ">" in text else ():
            found = self._of_line(name)
            if found is not None:
                return replace(found, note=_notes(found.note, printed_by_profiler(text)))
        return None

    @cached_property
    def _heads(self) -> re.Pattern[str]:
        kinds = self.registry.strings.kinds
        return heads_of(*(re.escape(name) for kind in kinds for name in (kind.name, *kind.other_names)))

    def _of_line(self, text: str) -> Identified | None:
        """Look up an instance string, or a line in a list's own spelling."""
        sources = self._sources.get(text, [])
        if not sources and "<" in text and self.registry.strings.knows(text.partition("<")[0]):
            try:
                parsed = self.registry.strings.parse(text)
            except StringError:
                return None
            sources = self._parsed_lines.get(parsed, [])
            if not sources:
                # what kernels print of themselves, exactly or in another spelling
                exact, alike = self._printed
                sources = exact.get(text) or alike.get(parsed, [])
            if not sources:
                return Identified(what="instance string", note="no list has this instance")
        return self._of_sources("line of a list", sources) if sources else None

    @cached_property
    def _parsed_lines(self) -> Mapping[ParsedString, list[str]]:
        """What lines of lists say -> where they stand."""
        return self._by_meaning(self._lines)

    @cached_property
    def _printed(self) -> tuple[Mapping[str, list[str]], Mapping[ParsedString, list[str]]]:
        """What generated kernels print of themselves, as text and by what it says -> their sources."""
        texts = {source: one.instance_string for source, one in self._generated.items()}
        exact: dict[str, list[str]] = defaultdict(list)
        for source, text in texts.items():
            exact[text].append(source)
        return exact, self._by_meaning(texts)

    def _by_meaning(self, lines: Mapping[str, str]) -> Mapping[ParsedString, list[str]]:
        found: dict[ParsedString, list[str]] = defaultdict(list)
        for source, line in lines.items():
            if self.registry.strings.knows(line.partition("<")[0]):
                with suppress(StringError):
                    found[self.registry.strings.parse(line)].append(source)
        return found

    def _of_sources(self, what: str, sources: Sequence[str]) -> Identified:
        candidates = map(self._candidate, sources)
        return Identified(
            what=what,
            direction=next((one.instance.direction for one in candidates if one), ""),
            matches=tuple(map(self._match, sources)),
        )

    @cached_property
    def _generated(self) -> Mapping[str, Candidate]:
        """Source -> instance, of all lists."""
        return {
            source: candidate
            for one in self.lists
            for source, candidate in self._of_list(str(one.path)).items()
        }

    @cached_property
    def _kernels(self) -> Mapping[str, str]:
        """Names of all kernels of the lists, as they are and as their C++ namespaces have them -> source."""
        kernels: dict[str, str] = {}
        for source, candidate in self._generated.items():
            for name in (candidate.name, f"ns_{candidate.name}"):
                kernels.setdefault(name, source)
        return kernels

    def _of_kernel_name(self, text: str) -> Identified | None:
        """Look up the names of kernels that ckprof generates, which stand in the symbols of its builds."""
        names = identifiers(text) if _LONG_WORD.search(text) else ()
        long = {name for name in names if _SHORTEST <= len(name) <= _LONGEST and "_" in name}
        # lists are read for the first name that may be one
        known = long & self._kernels.keys() if long else long
        return (
            self._of_sources("kernel that ckprof generates", [self._kernels[min(known)]]) if known else None
        )

    def _of_command(self, text: str) -> Identified | None:
        try:
            case = next(iter(self._log.cases_in(text)), None)
        except InputError:
            return None
        if case is None:
            return None
        return Identified(
            what="command with a problem",
            direction=case.direction or "",
            problem=self._problem_line(case),
            note="the line names no kernel",
        )

    @cached_property
    def _log(self) -> LogProblems:
        """What reads the commands of all lines."""
        return LogProblems("", "text", self.registry.operations, first=True)

    def _candidate(self, source: str) -> Candidate | None:
        return self._of_list(source.rpartition(":")[0]).get(source)

    def _match(self, source: str, problem: str = "") -> InstanceMatch:
        line = self._lines.get(source, "")
        candidate = self._candidate(source)
        if candidate is None:
            return InstanceMatch(
                source=source,
                line=line,
                note=f"no kernel is generated for the line: 'ckprof explain {source}' says why",
            )
        command = ["ckprof", "run", candidate.instance.direction, "--conf", source.rpartition(":")[0]]
        command += ["--instance", str(candidate.index)]
        if problem:
            command += ["--problem", problem]
        return InstanceMatch(
            source=source,
            line=line,
            kernel=candidate.name,
            instance_string=candidate.instance_string,
            command=shlex.join(command),
        )

    def _of_list(self, name: str) -> dict[str, Candidate]:
        """Return source -> instance of a list; nothing of one that cannot be read."""
        if name not in self._candidates:
            try:
                found = candidates_by_line(self.registry, name)
            except CkprofError:
                found = {}
            self._candidates[name] = {f"{name}:{number}": one for number, one in found.items()}
        return self._candidates[name]

    def _problem_line(self, case: ProblemCase) -> str:
        if not case.direction:
            return ""
        return line_of(case, self.registry.operation(case.direction))


#: names of kernels say operation, type, layout and tile: none is shorter
_SHORTEST, _LONGEST = 24, 512
#: a name with a folder or an ending, which no kernel and no line of a list is
_PATH: Final = re.compile(r"[^\s<>=:]*/[^\s<>=:]*|[^\s<>=:/]+\.[a-z]\w{0,7}|\.\.?")
_LONG_WORD: Final = re.compile(rf"\w{{{_SHORTEST}}}")


def _notes(*notes: str) -> str:
    return "; ".join(filter(None, notes))


_EPILOG = """\
examples:
  ckprof identify results.csv                          # names of kernels in a table of rocprof
  ckprof identify trace.json                           # a trace of PyTorch's profiler
  ckprof identify miopen.log
  ckprof identify '_ZN7ck_tile6kentryILi1E...'         # a symbol, mangled or readable
  ckprof identify 'DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle_V3<256, 128, ...>'

Gives the instance, its line in a list, the problem if the text says it, and the command that runs and
verifies the instance. Several instances may share a symbol; all are shown. Unidentifiable texts of a file
are counted. Exit code 0: something was identified, 1: nothing was.
"""
#: instances of one text that are shown
_SHOWN: Final = 6


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof identify``."""
    parser.epilog = _EPILOG
    parser.add_argument(
        "what", metavar="TEXT|FILE", nargs="+", help="a symbol, a line, a string; or a file that holds some"
    )
    add_fields(parser, FileUse, "conf")
    add_format(parser)


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: a file or a list cannot be read.
    """
    identifier = Identifier(session.registry, tuple(arguments.conf or ()))
    found: list[Identified] = []
    unknown = 0
    for what in arguments.what:
        path = Path(what)
        is_file = len(what) < 4096 and "<" not in what and path.is_file()
        if not is_file and _PATH.fullmatch(what):
            raise InputError("is a folder, expected a file" if path.is_dir() else "no such file", what)
        texts = texts_of(path) if is_file else [(what, "", 1)]
        for text, where, count in texts:
            one = identifier.identify(text, where, count)
            if one.what or not is_file:
                found.append(one)
            else:
                unknown += 1
    if arguments.format == "json":
        session.console.result(msgspec.json.format(json_text(to_builtins(found), None), indent=1))
    else:
        session.console.result(Document(map(_text, found)))
    if unknown:
        session.console.info(f"{counted(unknown, 'text')} of files without a known kernel")
    return ExitCode.OK if any(one.what for one in found) else ExitCode.FAILED


def _text(one: Identified) -> str:
    times = f" ({one.count} times)" if one.count > 1 else ""
    place = f"{one.where}: " if one.where else ""
    lines = [f"{place}{one.what or 'unknown'}{f' ({one.direction})' if one.direction else ''}{times}"]
    lines.append(f"  text      {_shortened(one.text)}")
    if one.problem:
        lines.append(f"  problem   {one.problem}")
    for match in one.matches[:_SHOWN]:
        lines.append(f"  list line {match.source}")
        if match.line:
            lines.append(f"            {_shortened(match.line)}")
        if match.kernel:
            lines += [f"  kernel    {match.kernel}", f"  instance  {match.instance_string}"]
        if match.command:
            lines.append(f"  verify    {match.command}")
        if match.note:
            lines.append(f"  note      {match.note}")
    if len(one.matches) > _SHOWN:
        lines.append(f"  ... and {len(one.matches) - _SHOWN} more instances; --format json has all of them")
    if one.note:
        lines.append(f"  note      {one.note}")
    return "\n".join(lines)


def _shortened(text: str) -> str:
    plain = one_line(text)
    return plain if len(plain) <= 200 else f"{plain[:200]}..."
