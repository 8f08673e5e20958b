"""The converter of instance lists: one loop over the lines, whatever their families."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from ckprof.errors import InputError
from ckprof.lists.list_files import is_json
from ckprof.model.requirement import UnmetRequirement
from ckprof.plugin.protocols import Converter
from ckprof_converters.collect import Collector
from ckprof_converters.compiled import CompiledFamily, LineError, LineProblem
from ckprof_converters.conf_family import LOST, ConfFamily, StepError
from ckprof_converters.derivation import PIPELINE_STATED, lost_fields
from ckprof_converters.drop_rules import DropRule, rule_of_other_text
from ckprof_converters.grammar import Grammar
from ckprof_converters.lines import (
    ANNOTATION_MARK,
    LogElementwise,
    instance_of,
    iterate_lines,
    looks_like_log,
    settings_in,
    stated_operation,
    states_pipeline,
)
from ckprof_converters.properties import FileFacts
from ckprof_converters.records import GemmRecord
from ckprof_plugins.directions._convolution.layout import ConvLayout
from ckprof_plugins.pipelines.family import result_of
from ckprof_plugins.pipelines.gemm_instance import usual_d_layouts

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ckprof.model.conversion import (
        Conversion,
        ConversionRequest,
        ExplainedLine,
        ListReading,
        TreePlan,
    )
    from ckprof_converters.explanation import LineRecorder

#: distinct lines that are remembered to recognise their repetitions at once
_REMEMBERED: Final = 20_000

#: outcomes that are remembered
_OUTCOMES: Final = 5_000

_LOOKS_LIKE_A_LIST: Final = re.compile(rb"^[ \t]*[A-Za-z_][A-Za-z0-9_]*[ \t]*<", re.MULTILINE)


class ConfConverter(Converter):
    """Reads ``.conf`` instance lists with the families of all plugins.

    The registry hands the families over with :meth:`use_families` once all plugins are loaded.
    """

    id: Final = "conf"
    streams: Final = True
    label: Final = (
        "instance lists of Composable Kernel (instance strings, type strings, native kernel names) "
        "and ckProfiler's output"
    )

    #: what plugins register for it
    family_type: Final = ConfFamily

    def __init__(self, families: Sequence[ConfFamily] = ()) -> None:
        #: the families in use, compiled
        self.grammar = Grammar(families)

    def use_families(self, families: Sequence[ConfFamily]) -> None:
        """Read with these families from now on.

        :raises PluginError: a table contradicts itself.
        """
        self.grammar = Grammar(families)

    def recognises(self, request: ConversionRequest) -> bool:
        """Say yes to ``.conf`` files, to ckProfiler's output, and where some line looks like ``Name<...``."""
        return not is_json(request.data) and (
            request.path.suffix.lower() == ".conf"
            or bool(_LOOKS_LIKE_A_LIST.search(request.data))
            or looks_like_log(request.data)
        )

    def plan_tree(self, root: Path, reading: ListReading) -> TreePlan | None:
        """Convert the lists of a folder; see :func:`ckprof_converters.list_tree.plan_tree`."""
        from ckprof_converters.list_tree import plan_tree

        return plan_tree(root, reading, self.convert)

    def explain(
        self, text: str, request: ConversionRequest, number: int | None = None
    ) -> ExplainedLine | None:
        """Explain a line; see :func:`ckprof_converters.explanation.explain`."""
        from ckprof_converters.explanation import explain

        return explain(text, request, number, self.grammar)

    def convert(self, request: ConversionRequest) -> Conversion:
        """Convert the whole list.

        :raises InputError: the content is no text; as :class:`~ckprof.errors.ListError` with all
            diagnostics if lines are wrong.
        """
        return ConversionRun(self.grammar, request).convert(self.id)


@dataclass(frozen=True, slots=True)
class _LineOutcome:
    """What the arguments of a line give, wherever it stands."""

    compiled: CompiledFamily
    properties: ListReading
    #: values of the record without its id, or why there is none
    row: tuple[Any, ...] | UnmetRequirement
    #: what the line says and the row cannot; empty if there is nothing
    lossy: str = ""


def _lossy(compiled: CompiledFamily, values: dict[str, Any], properties: ListReading) -> str:
    """Return what a line says that a catalog has no field for."""
    two_stage = bool(values.get("two_stage"))
    lost = lost_fields(compiled.apart, values, properties.dtype, two_stage=two_stage)
    return ", ".join((*(said for _, said, _ in lost.values()), *values.get(LOST, ())))


class ConversionRun:
    """One conversion.

    :param recorder: takes down what is made of one of the lines.
    """

    def __init__(
        self, grammar: Grammar, request: ConversionRequest, recorder: LineRecorder | None = None
    ) -> None:
        self._grammar = grammar
        self._request = request
        self._recorder = recorder
        self._properties = FileFacts(request, grammar.layouts, grammar.dtypes)
        self._collector = Collector(request)
        self._log = looks_like_log(request.data)
        #: id of a family with a conflicting_family -> its first line
        self._conflicting: dict[str, int] = {}
        #: family and read arguments -> outcome: lists repeat them with other unread arguments
        self._outcomes: dict[tuple[CompiledFamily, tuple[str | None, ...]], _LineOutcome] = {}
        self._lossy: dict[int, str] = {}
        self._elementwise = LogElementwise()
        #: text of a line -> (rule, reason) for each further line like it
        self._repeats: dict[str, tuple[str, str]] = {}

    def convert(self, converter: str) -> Conversion:
        repeats = self._repeats
        recorded = self._recorder.number if self._recorder is not None else 0
        number = 0
        for number, line in enumerate(iterate_lines(self._request), 1):
            if self._log:
                self._elementwise.read(line)
            earlier = repeats.get(line) if number != recorded else None
            if earlier is not None:
                self._collector.drop(number, *earlier)
                continue
            outcome = self._line(number, line, self._recorder if number == recorded else None)
            if outcome is not None:
                if len(repeats) >= _REMEMBERED:
                    repeats.clear()
                repeats[line] = outcome
        if number < recorded:
            message = f"there is no line {recorded}, the file has {number} lines"
            raise InputError(message, self._request.path)
        asked = self._request.direction
        variant = self._grammar.main_variant(asked) if asked else ""
        conversion = self._collector.finish(converter, number, self._properties, variant)
        return replace(conversion, lossy=self._lossy)

    def _line(self, number: int, line: str, recorder: LineRecorder | None) -> tuple[str, str] | None:
        """Account for a line; return why further lines with this text are dropped, if that is certain."""
        start = 0
        if recorder is not None:
            recorder.begin(line)
        try:
            text, start = instance_of(line, log=self._log, upstream_comments=self._request.upstream_comments)
            if text:
                return self._instance(number, text, start, line, recorder)
        except LineError as error:
            self._wrong(number, error, start)
            if recorder is not None:
                recorder.wrong(error, start)
            return None
        rule = rule_of_other_text(line, log=self._log)
        return self._drop(number, rule.value, rule.meaning, recorder)

    def _drop(self, number: int, rule: str, reason: str, recorder: LineRecorder | None) -> tuple[str, str]:
        self._collector.drop(number, rule, reason)
        if recorder is not None:
            recorder.drop(rule, reason)
        return rule, reason

    def _wrong(self, number: int, error: LineError, start: int) -> None:
        for problem in error.problems:
            self._collector.error(
                number, start + problem.start + 1, problem.message, whole_file=problem.whole_file
            )
        if self._request.lenient:
            messages = "; ".join(problem.message for problem in error.problems)
            self._collector.drop(number, DropRule.ERROR.value, messages)

    def _instance(
        self, number: int, text: str, start: int, line: str, recorder: LineRecorder | None
    ) -> tuple[str, str] | None:
        match = self._grammar.match(text)
        if recorder is not None:
            recorder.start(text, start, self._grammar, match and match[0])
        stated = stated_operation(line)
        is_certain = states_pipeline(line)
        known = match if stated is None and not is_certain and recorder is None else None
        outcome = self._outcomes.get(known) if known is not None else None
        if outcome is None:
            read = self._read(number, text, match, stated, recorder, is_certain=is_certain)
            if isinstance(read, tuple):
                return self._drop(number, *read, recorder)
            outcome = read
            if known is not None:
                if len(self._outcomes) >= _OUTCOMES:
                    self._outcomes.clear()
                self._outcomes[known] = outcome
        if isinstance(outcome.row, UnmetRequirement):
            self._collector.touch(outcome.compiled, outcome.properties)
            return self._drop(number, outcome.row.rule, outcome.row.message, recorder)
        return self._record(number, outcome, outcome.row, line, recorder)

    def _record(
        self,
        number: int,
        outcome: _LineOutcome,
        row: tuple[Any, ...],
        line: str,
        recorder: LineRecorder | None,
    ) -> tuple[str, str] | None:
        family = outcome.compiled.family
        assert family.record_type is not None  # noqa: S101  # compiled families have one
        said: dict[str, Any] = (
            settings_in(line.lstrip(), family.record_type) if ANNOTATION_MARK in line else {}
        )
        id_ = said.pop("id", None)
        asked = self._elementwise_of_command(outcome)
        if said or asked:
            names = family.record_type.__struct_fields__[1:]
            row = tuple({**dict(zip(names, row, strict=True)), **said, **asked}.values())
        lossy = ", ".join(filter(None, (outcome.lossy, self._elementwise.unknown)))
        if recorder is not None:
            recorder.end(row, said, asked, lossy)
        first = self._collector.add(number, outcome.compiled, row, outcome.properties, id_)
        reason = f"equal to line {first} in all but the id"
        if lossy:
            self._lossy[number] = lossy
        if first != number:
            self._drop(number, DropRule.DUPLICATE.value, reason, recorder)
        # Ids that count instances count duplicates too, so those lines must come here again.
        return None if family.index_ids else (DropRule.DUPLICATE.value, reason)

    def _elementwise_of_command(self, outcome: _LineOutcome) -> dict[str, Any]:
        """Return the values of a record that the command of a log asks for and the line does not say."""
        combination, family = self._elementwise.combination, outcome.compiled.family
        says_it = any(field.name.startswith("operation_") for field in family.fields)
        layout = outcome.properties.layout
        if combination is None or says_it or family.record_type is not GemmRecord:
            return {}
        if not isinstance(layout, ConvLayout):
            return {}
        layouts = usual_d_layouts(combination.operation, layout, result_of(family.direction))
        return {"elementwise_op": combination.operation.value, "d_layouts": layouts}

    def _read(
        self,
        number: int,
        text: str,
        match: tuple[CompiledFamily, tuple[str | None, ...]] | None,
        stated: str | None,
        recorder: LineRecorder | None,
        *,
        is_certain: bool,
    ) -> _LineOutcome | tuple[str, str]:
        """Return what the line's arguments give, or the rule and reason of its rejection."""
        if match is None:
            compiled, values = self._grammar.read_slowly(text)
        else:
            compiled, values = match[0], match[0].values_of(match[1])
        family = compiled.family
        if stated is not None and "elementwise_op" in values:
            values["elementwise_op"] = stated
        values[PIPELINE_STATED] = is_certain
        if family.rejection:
            return family.rejection_rule, f"{family.title}: {family.rejection}"
        if family.conflicting_family:
            self._check_conflict(number, compiled)
        asked = self._request.direction
        if asked is not None and family.direction != asked:
            raise LineError(
                LineProblem(f"{family.title} is of direction {family.direction}, expected {asked}", 0, True)
            )
        try:
            properties = self._properties.of_line(compiled, values, number)
            if recorder is not None:
                values = recorder.traced(values, stated)
            for step in compiled.steps:
                dropped = step(values, properties)
                if recorder is not None:
                    recorder.step(step)
                if dropped is not None:
                    return _LineOutcome(compiled, properties, dropped)
        except StepError as error:
            start = compiled.start_of(self._grammar.split(text)[1], error.field)
            raise LineError(LineProblem(error.message, start, error.whole_file)) from None
        return _LineOutcome(compiled, properties, compiled.row(values), _lossy(compiled, values, properties))

    def _check_conflict(self, number: int, compiled: CompiledFamily) -> None:
        family = compiled.family
        other = self._conflicting.get(family.conflicting_family)
        if other is not None:
            raise LineError(
                LineProblem(
                    f"{family.title} with {len(family.fields)} arguments, line {other} has another number",
                    0,
                )
            )
        self._conflicting.setdefault(family.id, number)
