"""``ckprof identify``: which instance a kernel of a trace, a log or a database is."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ckprof.cli.fields import add_fields, add_format, chosen
from ckprof.cli.outputs import to_output_file
from ckprof.errors import CkprofError, ExitCode, InputError
from ckprof.kernels.candidates import list_candidates
from ckprof.lists.list_files import find_list, read_list
from ckprof.model.conversion import ListReading
from ckprof.model.problem_case import ProblemCase
from ckprof.model.strings.rendering import StringError
from ckprof.plain_text import one_line
from ckprof.problems.from_log import problems_from_text
from ckprof.problems.problem_file import programs_of
from ckprof.report.document import Document
from ckprof.wording import counted
from ckprof_plugins.consumers.protocols import CONSUMERS
from ckprof_plugins.consumers.records import Sighting
from ckprof_plugins.consumers.requests import KernelLookup, kernel_lists

if TYPE_CHECKING:
    import argparse

    from ckprof.cli.session import Session
    from ckprof.kernels.candidates import Candidate
    from ckprof.plugin.registry import Registry
    from ckprof_plugins.consumers.records import KernelList


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceMatch:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Identified:
    """What a text means."""

    text: str
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


@dataclass(slots=True, kw_only=True)
class Identifier:
    """Looks texts up in lists.

    :param names: of lists and folders; all that ship with ckprof if there are none.
    """

    registry: Registry
    names: tuple[str, ...] = ()
    _candidates: dict[str, dict[str, Candidate]] = field(default_factory=dict)
    _lists: tuple[KernelList, ...] = ()
    _sources: dict[str, list[str]] = field(default_factory=dict)
    _lines: dict[str, str] = field(default_factory=dict)
    _kernels: dict[str, str] = field(default_factory=dict)
    _found: dict[str, Identified] = field(default_factory=dict)

    @property
    def lists(self) -> tuple[KernelList, ...]:
        """The lists as text.

        :raises InputError: one cannot be read.
        """
        if not self._lists:
            self._lists = kernel_lists(self.names)
            for one in self._lists:
                for number, line in one.lines:
                    source = f"{one.path}:{number}"
                    self._sources.setdefault(line, []).append(source)
                    self._lines[source] = line
        return self._lists

    def identify(self, text: str, where: str = "", count: int = 1) -> Identified:
        """Say what a text means."""
        if text not in self._found:
            self._found[text] = self._identified(text)
        return replace(self._found[text], where=where, count=count)

    def _identified(self, text: str) -> Identified:
        found = Identified(text=text, note="says nothing of a known kernel")
        sightings = [
            sighting
            for consumer in self.registry.entries(CONSUMERS)
            for sighting in consumer.sightings(text, self.lists)
        ]
        if sightings:
            # the one that says most
            best = max(sightings, key=lambda one: (bool(one.lines), one.problem is not None))
            return self._of_sighting(best, found)
        return self._of_line(found) or self._of_kernel_name(found) or self._of_command(found) or found

    def _of_sighting(self, sighting: Sighting, found: Identified) -> Identified:
        matches = tuple(self._match(source, sighting) for source in sighting.lines)
        return Identified(
            text=found.text,
            what=sighting.what,
            direction=sighting.direction,
            problem=self._problem_line(sighting),
            matches=matches,
            note=sighting.note,
        )

    def _of_line(self, found: Identified) -> Identified | None:
        """Look up an instance string, or a line in a list's own spelling."""
        text = found.text.strip()
        strings = self.registry.strings
        sources = self._sources.get(text, []) if self.lists else []
        if not sources and "<" in text and strings.knows(text.partition("<")[0]):
            try:
                parsed = strings.parse(text)
            except StringError:
                return None
            sources = [
                f"{one.path}:{number}"
                for one in self.lists
                for number, line in one.lines
                if line.partition("<")[0] == text.partition("<")[0] and self._parses_as(line, parsed)
            ]
            sources = sources or self._generated(text, parsed)
            if not sources:
                return Identified(text=text, what="instance string", note="no list has this instance")
        if not sources:
            return None
        matches = tuple(self._match(source, Sighting(what="line")) for source in sources)
        direction = next((self._direction(match) for match in matches if match.kernel), "")
        return Identified(text=text, what="line of a list", direction=direction, matches=matches)

    def _generated(self, text: str, parsed: object) -> list[str]:
        """Return the lines whose generated kernels print a text, or the same in another spelling."""
        kernels = [
            (source, candidate.instance_string)
            for one in self.lists
            for source, candidate in self._of_list(str(one.path)).items()
        ]
        exact = [source for source, printed in kernels if printed == text]
        name = text.partition("<")[0]
        return exact or [
            source
            for source, printed in kernels
            if printed.partition("<")[0] == name and self._parses_as(printed, parsed)
        ]

    def _parses_as(self, line: str, parsed: object) -> bool:
        try:
            return self.registry.strings.parse(line) == parsed
        except StringError:
            return False

    def _of_kernel_name(self, found: Identified) -> Identified | None:
        """Look up the names of kernels that ckprof generates, which stand in the symbols of its builds."""
        names = identifiers(found.text) & self._kernel_names()
        if not names:
            return None
        source = self._kernels[min(names)]
        match = self._match(source, Sighting(what="kernel"))
        return Identified(
            text=found.text,
            what="kernel that ckprof generates",
            direction=self._direction(match),
            matches=(match,),
        )

    def _kernel_names(self) -> Set[str]:
        """Return the names of all kernels of the lists, as they are and as their C++ namespaces have them."""
        if not self._kernels:
            for one in self.lists:
                for source, candidate in self._of_list(str(one.path)).items():
                    for name in (candidate.name, f"ns_{candidate.name}"):
                        self._kernels.setdefault(name, source)
        return self._kernels.keys()

    def _of_command(self, found: Identified) -> Identified | None:
        if not any(program in found.text for program in programs_of(self.registry.operations)):
            return None
        log = problems_from_text(found.text, "text", self.registry.operations)
        if not log.problems:
            return None
        case = log.problems[0]
        sighting = Sighting(
            what="problem", direction=case.direction or "", problem=case.problem, dtype=case.dtype
        )
        return Identified(
            text=found.text,
            what="command with a problem",
            direction=sighting.direction,
            problem=self._problem_line(sighting, case),
            note="the line names no kernel",
        )

    def _direction(self, match: InstanceMatch) -> str:
        path = match.source.rpartition(":")[0]
        candidate = self._of_list(path).get(match.source)
        return candidate.instance.direction if candidate is not None else ""

    def _match(self, source: str, sighting: Sighting) -> InstanceMatch:
        path = source.rpartition(":")[0]
        line = self._lines.get(source, "")
        candidate = self._of_list(path).get(source)
        if candidate is None:
            return InstanceMatch(
                source=source,
                line=line,
                note=f"no kernel is generated for the line: 'ckprof explain {source}' says why",
            )
        problem = self._problem_line(sighting)
        command = ["ckprof", "run", candidate.instance.direction, "--conf", path]
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
        """Return source -> instance of a list; a line whose instance another one has is left out."""
        if name not in self._candidates:
            try:
                path = find_list(name)
                conversion = read_list(path, self.registry, reading=ListReading(lenient=True))
                found = list_candidates([conversion], self.registry)
            except CkprofError:
                found, path = [], Path(name)
            self._candidates[name] = {
                f"{name}:{one.source.rpartition(':')[2]}": one for one in found if ":" in one.source
            }
        return self._candidates[name]

    def _problem_line(self, sighting: Sighting, case: ProblemCase | None = None) -> str:
        if sighting.problem is None or not sighting.direction:
            return ""
        operation = self.registry.operation(sighting.direction)
        case = case or ProblemCase(
            problem=sighting.problem,
            direction=sighting.direction,
            dtype=sighting.dtype,
            layout=sighting.layout or None,
        )
        for form in operation.line_forms:
            try:
                return operation.problem_line(case, form)
            except InputError:
                continue
        return ""


#: columns of profilers' tables that hold names of kernels
_COLUMNS: Final = ("KernelName", "Kernel_Name", "Name", "kernel_name", "Kernel Name")
_WORD: Final = re.compile(r"[A-Za-z_]\w+")
_SIZED: Final = re.compile(r"\d+")


def identifiers(text: str) -> frozenset[str]:
    """Return the names in a text: its words, and of mangled symbols the names with their lengths before."""
    names = set(_WORD.findall(text))
    for found in _SIZED.finditer(text):
        length = int(found[0]) if len(found[0]) < 5 else 0
        name = text[found.end() : found.end() + length]
        if length > 2 and len(name) == length and _WORD.fullmatch(name):
            names.add(name)
    return frozenset(names)


def texts_of(path: Path) -> Iterator[tuple[str, str, int]]:
    """Yield text, place and count of what a trace or log holds: names of kernels, or lines.

    :raises InputError: it cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as exc:
        raise InputError(f"cannot be read: {exc.strerror}", path) from None
    start = text.lstrip()[:1]
    if start in ("{", "["):
        yield from _of_json(text, path)
        return
    header = next(csv.reader(io.StringIO(text)), [])
    column = next((name for name in _COLUMNS if name in header), None)
    if column is not None:
        counts: Counter[str] = Counter()
        first: dict[str, int] = {}
        for number, row in enumerate(csv.DictReader(io.StringIO(text)), 2):
            name = row.get(column) or ""
            counts[name] += 1
            first.setdefault(name, number)
        for name, count in counts.items():
            if name:
                yield name, f"{path}:{first[name]}", count
        return
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            yield line, f"{path}:{number}", 1


def _of_json(text: str, path: Path) -> Iterator[tuple[str, str, int]]:
    try:
        document: Any = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as exc:
        raise InputError(f"is no JSON: {exc}", path) from None
    events = document.get("traceEvents", []) if isinstance(document, Mapping) else document
    counts: Counter[str] = Counter()
    for event in events if isinstance(events, Sequence) else []:
        if isinstance(event, Mapping) and event.get("cat") in ("kernel", "Kernel", None):
            name = event.get("name")
            if isinstance(name, str):
                counts[name] += 1
    for name, count in counts.items():
        yield name, str(path), count


_EPILOG = """\
examples:
  ckprof identify results.csv                          # names of kernels in a table of rocprof
  ckprof identify trace.json                           # a trace of PyTorch's profiler
  ckprof identify miopen.log
  ckprof identify '_ZN7ck_tile6kentryILi1E...'         # a symbol, mangled or readable
  ckprof identify 'DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle_V3<256, 128, ...>'

Gives the instance, its line in a list, the problem if the text says it, and the command that runs and
verifies the instance. Several instances may share a symbol; all are shown. Of a file, texts that mean
nothing are counted. Exit code 0: something was identified, 1: nothing was.
"""
#: instances of one text that are shown
_SHOWN: Final = 6


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof identify``."""
    parser.epilog = _EPILOG
    parser.add_argument(
        "what", metavar="TEXT|FILE", nargs="+", help="a symbol, a line, a string; or a file that holds some"
    )
    add_fields(parser, KernelLookup, "conf")
    add_format(parser)


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: a file or a list cannot be read.
    """
    identifier = Identifier(registry=session.registry, names=chosen(arguments, KernelLookup, "conf").conf)
    found: list[Identified] = []
    unknown = 0
    for what in arguments.what:
        path = Path(what)
        is_file = len(what) < 4096 and "<" not in what and path.is_file()
        texts = texts_of(path) if is_file else [(what, "", 1)]
        for text, where, count in texts:
            one = identifier.identify(text, where, count)
            if one.what or not is_file:
                found.append(one)
            else:
                unknown += 1
    with to_output_file(arguments, session):
        if arguments.format == "json":
            session.console.result(json.dumps([asdict(one) for one in found], indent=1))
        else:
            session.console.result(Document([_text(one) for one in found]))
    if unknown:
        session.console.info(f"{counted(unknown, 'text')} of files say nothing of a known kernel")
    return ExitCode.OK if any(one.what for one in found) else ExitCode.FAILED


def _text(one: Identified) -> str:
    times = f" ({one.count} times)" if one.count > 1 else ""
    place = f"{one.where}: " if one.where else ""
    lines = [f"{place}{one.what or 'unknown'}{f' ({one.direction})' if one.direction else ''}{times}"]
    lines.append(f"  text      {_shortened(one.text)}")
    if one.problem:
        lines.append(f"  problem   {one.problem}")
    for match in one.matches[:_SHOWN]:
        lines += _match_lines(match)
    if len(one.matches) > _SHOWN:
        lines.append(f"  ... and {len(one.matches) - _SHOWN} more instances; --format json has all of them")
    if one.note:
        lines.append(f"  note      {one.note}")
    return "\n".join(lines)


def _match_lines(match: InstanceMatch) -> list[str]:
    lines = [f"  list line {match.source}"]
    if match.line:
        lines.append(f"            {_shortened(match.line)}")
    if match.kernel:
        lines.append(f"  kernel    {match.kernel}")
        lines.append(f"  instance  {match.instance_string}")
    if match.command:
        lines.append(f"  verify    {match.command}")
    if match.note:
        lines.append(f"  note      {match.note}")
    return lines


def _shortened(text: str) -> str:
    plain = one_line(text)
    return plain if len(plain) <= 200 else f"{plain[:200]}..."
