"""What the converter makes of one line, argument by argument."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from msgspec import UNSET

from ckprof.model.conversion import (
    ExplainedField,
    ExplainedKey,
    ExplainedLine,
    ExplainedRule,
)
from ckprof_converters.annotations import settings_in
from ckprof_converters.compiled import CompiledFamily, LineError, Problem, read_field
from ckprof_converters.conf_family import StepError
from ckprof_converters.drop_rules import rule_of_other_text
from ckprof_converters.lines import LineTexts
from ckprof_converters.properties import FileFacts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof.model.conversion import ExplainRequest
    from ckprof.model.strings.line_arguments import Argument
    from ckprof_converters.conf_family import Step
    from ckprof_converters.conf_parser import Grammar


def explain(request: ExplainRequest, grammar: Grammar) -> ExplainedLine:
    """Explain one line.

    :param grammar: the families, e.g. :attr:`ckprof_converters.converter.ConfConverter.grammar`.
    """
    texts = LineTexts(replace(request.request, data=request.text.encode(errors="replace"), stream=None))
    try:
        text, indent = texts.of(request.text)
    except LineError as error:
        return ExplainedLine(text=request.text, errors=_columns(error.problems, 0))
    if not text:
        rule = rule_of_other_text(request.text, log=texts.log)
        return ExplainedLine(text=request.text, rule=rule.value, reason=rule.meaning)
    try:
        compiled, arguments = grammar.split(text)
    except LineError as error:
        return ExplainedLine(text=text, errors=_columns(error.problems, indent))
    properties = FileFacts.of_request(request.request, grammar.layouts, grammar.dtypes)
    return _Explanation(compiled, arguments, (text, indent), request, properties).line()


_ANNOTATION: Final = ExplainedRule(
    id="annotation", text="Take the value that the annotation after the line gives."
)


class _Trace(dict[str, Any]):
    """Values of a line that know what each value that a step writes follows from.

    That is what the step has read since it last read something else after writing: steps derive one thing
    after the other.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        #: name of a value -> names of the arguments that it follows from
        self.sources: dict[str, frozenset[str]] = {}
        #: names that the current step has written
        self.written: dict[str, None] = {}
        self._read: set[str] = set()
        self._writing = False

    def start_step(self) -> None:
        """Forget what the step before has read and written."""
        self._read.clear()
        self.written.clear()

    def __getitem__(self, name: str) -> Any:
        if self._writing:
            self._writing = False
            self._read.clear()
        self._read.add(name)
        return super().__getitem__(name)

    def __setitem__(self, name: str, value: Any) -> None:
        self._writing = True
        self.written[name] = None
        none: frozenset[str] = frozenset()
        self.sources[name] = none.union(*(self.sources.get(read, none) for read in self._read))
        super().__setitem__(name, value)


class _Explanation:
    def __init__(
        self,
        compiled: CompiledFamily,
        arguments: list[Argument],
        location: tuple[str, int],
        request: ExplainRequest,
        properties: FileFacts,
    ) -> None:
        self._compiled = compiled
        self._arguments = arguments
        self._text, self._indent = location
        self._request = request
        self._properties = properties
        #: name of a value -> names of the arguments that it follows from
        self._sources: dict[str, frozenset[str]] = {}
        #: name of a value -> the rule that derived it
        self._origins: dict[str, ExplainedRule] = {}

    def line(self) -> ExplainedLine:
        family = self._compiled.family
        outcome: dict[str, Any] = {}
        if family.rejection:
            outcome = {"rule": family.rejection_rule, "reason": f"{family.title}: {family.rejection}"}
        else:
            try:
                outcome = self._derive()
            except LineError as error:
                outcome = {"errors": _columns(error.problems, self._indent)}
        return ExplainedLine(
            text=self._text,
            family=family.id,
            title=family.title,
            direction=family.direction,
            variant=family.variant,
            fields=tuple(self._fields()),
            note=family.note,
            **outcome,
        )

    def _derive(self) -> dict[str, Any]:
        compiled = self._compiled
        values = compiled.read_slowly(self._arguments)
        traced = _Trace(values)
        try:
            properties = self._properties.of_line(compiled, values, 1)
            traced.sources = {name: frozenset((name,)) for name in self._argument_names() if name in values}
            self._sources = traced.sources
            for step in compiled.steps:
                traced.start_step()
                dropped = step(traced, properties)
                self._note_step(step, traced)
                if dropped is not None:
                    return {"rule": dropped.rule, "reason": dropped.reason}
        except StepError as error:
            start = compiled.start_of(self._arguments, error.field)
            raise LineError(Problem(error.message, start)) from None
        if compiled.family.record_type is not None:
            said = settings_in(self._request.text.lstrip(), compiled.family.record_type)
            traced.start_step()
            traced.update(said)
            self._origins.update(dict.fromkeys(said, _ANNOTATION))
        keys = self._keys(traced)
        used = {key.origin for key in keys}
        rules = dict.fromkeys(rule for rule in self._origins.values() if rule.id in used)
        return {"record": tuple(keys), "rules": tuple(rules)}

    def _note_step(self, step: Step, traced: _Trace) -> None:
        name = getattr(step, "__name__", "rule").replace("_", "-")
        rule = ExplainedRule(id=name, text=(step.__doc__ or "").strip().partition("\n")[0])
        self._origins.update(dict.fromkeys(traced.written, rule))

    def _keys(self, values: Mapping[str, Any]) -> list[ExplainedKey]:
        positions = {name: position for position, name in enumerate(self._argument_names(), 1)}
        keys = []
        left_out = self._left_out()
        for name in self._record_keys():
            if values[name] is UNSET or (name in left_out and values[name] is None):
                # the record leaves the key out
                continue
            if name in self._origins:
                origin = self._origins[name].id
            elif name in positions:
                origin = f"argument {positions[name]}"
            else:
                origin = "fixed"
            keys.append(ExplainedKey(name=name, value=values[name], origin=origin))
        return keys

    def _fields(self) -> list[ExplainedField]:
        fields = []
        for position, (field, argument) in enumerate(
            zip(self._compiled.family.fields, self._arguments, strict=False), 1
        ):
            value = read_field(field, argument, position)
            wrong = isinstance(value, Problem)
            becomes = [name for name in self._record_keys() if field.name in self._sources.get(name, ())]
            fields.append(
                ExplainedField(
                    position=position,
                    name=field.name,
                    text=argument.text,
                    column=self._indent + argument.start + 1,
                    read=field.read,
                    value=None if wrong else value,
                    becomes=tuple(becomes),
                    error=value.message if wrong else "",
                )
            )
        return fields

    def _argument_names(self) -> list[str]:
        return [field.name for field, _ in zip(self._compiled.family.fields, self._arguments, strict=False)]

    def _record_keys(self) -> tuple[str, ...]:
        record_type = self._compiled.family.record_type
        return record_type.__struct_fields__[1:] if record_type is not None else ()

    def _left_out(self) -> frozenset[str]:
        """Return the keys that a file does not have where nothing is said about them."""
        record_type = self._compiled.family.record_type
        if record_type is None or not record_type.__struct_config__.omit_defaults:
            return frozenset()
        defaults = len(record_type.__struct_defaults__)
        return frozenset(record_type.__struct_fields__[len(record_type.__struct_fields__) - defaults :])


def _columns(problems: Sequence[Problem], indent: int) -> tuple[tuple[int, str], ...]:
    return tuple((indent + problem.start + 1, problem.message) for problem in problems)
