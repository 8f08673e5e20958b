"""The converter of instance lists: one loop over the lines, whatever their families."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from ckprof_converters.collect import Collector
from ckprof_converters.compiled import CompiledFamily, LineError, Problem
from ckprof_converters.facts import FactProblem, FileFacts
from ckprof_converters.family import Drop, StepError
from ckprof_converters.grammar import Grammar
from ckprof_converters.lines import instance_text, iterate_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.model.conversion import Conversion, ConversionRequest
    from ckprof_converters.family import ConfFamily, LineFacts

#: distinct lines that are remembered to recognise their repetitions at once
_REMEMBERED: Final = 20_000

_LOOKS_LIKE_A_LIST: Final = re.compile(rb"^[ \t]*[A-Za-z_][A-Za-z0-9_]*[ \t]*<", re.MULTILINE)


class ConfConverter:
    """Reads ``.conf`` instance lists with the families of all plugins.

    The registry hands the families over with :meth:`use_families` once all plugins are loaded.
    """

    id: Final = "conf"
    label: Final = "instance lists of Composable Kernel: instance strings, type strings, native kernel names"

    def __init__(self, families: Sequence[ConfFamily] = ()) -> None:
        self._grammar = Grammar(families)

    def use_families(self, families: Sequence[ConfFamily]) -> None:
        """Read with these families from now on.

        :raises PluginError: two have the same id, or a table contradicts itself.
        """
        self._grammar = Grammar(families)

    @property
    def grammar(self) -> Grammar:
        """The families in use, compiled."""
        return self._grammar

    def recognises(self, request: ConversionRequest) -> bool:
        """Say yes to every ``.conf`` file, and to others in which some line looks like ``Name<...``."""
        return request.path.suffix.lower() == ".conf" or bool(_LOOKS_LIKE_A_LIST.search(request.data))

    def convert(self, request: ConversionRequest) -> Conversion:
        """Convert the whole list.

        :raises InputError: the content is no text; as :class:`~ckprof.catalog.errors.ListError` with all
            diagnostics if lines are wrong.
        """
        return _Run(self._grammar, request).convert(self.id)


class _Run:
    """One conversion."""

    def __init__(self, grammar: Grammar, request: ConversionRequest) -> None:
        self._grammar = grammar
        self._request = request
        self._facts = FileFacts.of_request(request)
        self._collector = Collector(request)
        #: text of a line -> (rule, reason) for each further line like it
        self._repeats: dict[str, tuple[str, str]] = {}

    def convert(self, converter: str) -> Conversion:
        repeats = self._repeats
        drop = self._collector.drop
        number = 0
        for number, line in enumerate(iterate_lines(self._request), 1):
            known = repeats.get(line)
            if known is not None:
                drop(number, *known)
                continue
            outcome = self._line(number, line)
            if outcome is not None:
                if len(repeats) >= _REMEMBERED:
                    repeats.clear()
                repeats[line] = outcome
        return self._collector.finish(converter, number, self._facts)

    def _line(self, number: int, line: str) -> tuple[str, str] | None:
        """Account for a line; return why further lines with this text are dropped, if that is certain."""
        text = instance_text(line, upstream_comments=self._request.upstream_comments)
        if not text:
            outcome = ("comment", "comment line") if line.strip() else ("blank", "blank line")
            self._collector.drop(number, *outcome)
            return outcome
        try:
            return self._instance(number, text)
        except LineError as error:
            indent = len(line) - len(line.lstrip())
            for problem in error.problems:
                self._collector.error(
                    number, indent + problem.start + 1, problem.message, whole_file=problem.whole_file
                )
            if self._request.lenient:
                self._collector.drop(
                    number, "error", "; ".join(problem.message for problem in error.problems)
                )
            return None

    def _instance(self, number: int, text: str) -> tuple[str, str] | None:
        compiled, values = self._grammar.read(text)
        family = compiled.family
        if family.refusal:
            outcome = ("unsupported-family", f"{family.title}: {family.refusal}")
            self._collector.drop(number, *outcome)
            return outcome
        asked = self._request.direction
        if asked is not None and family.direction != asked:
            raise LineError(
                Problem(f"{family.title} is of direction {family.direction}, expected {asked}", 0, True)
            )
        facts = self._facts.of_line(compiled, values, number)
        if isinstance(facts, FactProblem):
            start = self._start_of(text, facts.field)
            raise LineError(Problem(facts.message, start, facts.whole_file))
        dropped = self._derive(text, compiled, values, facts)
        if dropped is not None:
            self._collector.touch(compiled, facts)
            self._collector.drop(number, dropped.rule, dropped.reason)
            return dropped.rule, dropped.reason
        first = self._collector.add(number, compiled, values, facts)
        reason = f"equal to line {first} in all but the id"
        if first != number:
            self._collector.drop(number, "duplicate", reason)
        # Ids that count instances count duplicates too, so those lines must come here again.
        return None if family.index_ids else ("duplicate", reason)

    def _derive(
        self, text: str, compiled: CompiledFamily, values: dict[str, Any], facts: LineFacts
    ) -> Drop | None:
        for step in compiled.steps:
            try:
                dropped = step(values, facts)
            except StepError as error:
                raise LineError(Problem(error.message, self._start_of(text, error.field))) from None
            if dropped is not None:
                return dropped
        return None

    def _start_of(self, text: str, field: str) -> int:
        """Return the place of the argument called ``field``; 0 if the family has none of that name."""
        compiled, arguments = self._grammar.split(text)
        for described, argument in zip(compiled.family.fields, arguments, strict=False):
            if described.name == field:
                return argument.start
        return 0
