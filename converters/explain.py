"""What the converter makes of one line, argument by argument."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckprof.model.conversion import ConversionRequest
from ckprof_converters.compiled import CompiledFamily, LineError, Problem, read_field
from ckprof_converters.facts import FactProblem, FileFacts
from ckprof_converters.family import StepError
from ckprof_converters.lines import instance_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.model.dtype import DataType
    from ckprof.model.layout import ConvLayout
    from ckprof.strings.arguments import Argument
    from ckprof_converters.grammar import Grammar


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedField:
    """One argument of the line."""

    #: one-based
    position: int
    name: str
    text: str
    #: one-based
    column: int
    #: false if the argument is checked but has no influence on the record
    read: bool
    #: what the text means; ``None`` if it is wrong
    value: Any
    #: keys of the record that hold this very value because the argument says so
    becomes: tuple[str, ...]
    #: what is wrong with it; empty if nothing is
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedKey:
    """One key of the record that the line gives."""

    name: str
    value: Any
    #: ``argument N``, ``fixed`` or ``derived``
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedLine:
    """What becomes of a line that stands alone in a list."""

    text: str
    #: id, title, direction and variant of the family; empty if there is none
    family: str = ""
    title: str = ""
    direction: str = ""
    variant: str = ""
    fields: tuple[ExplainedField, ...] = ()
    #: empty if the line gives no instance
    record: tuple[ExplainedKey, ...] = ()
    #: rule that drops the line, and its sentence; empty if none does
    rule: str = ""
    reason: str = ""
    #: (one-based column, message)
    errors: tuple[tuple[int, str], ...] = ()
    #: assumption that was made
    note: str = ""


def explain(
    line: str,
    grammar: Grammar,
    *,
    layout: ConvLayout | None = None,
    dtype: DataType | None = None,
    mma_k_table: tuple[int, int] = (16, 32),
    path: Path | None = None,
) -> ExplainedLine:
    """Explain one line.

    :param grammar: the families, e.g. :attr:`ckprof_converters.converter.ConfConverter.grammar`.
    :param layout: for lines that do not say it.
    :param dtype: likewise.
    :param path: file whose name may say layout and data type.
    """
    text = instance_text(line, upstream_comments=False)
    if not text:
        if line.strip():
            return ExplainedLine(text=line, rule="comment", reason="comment line")
        return ExplainedLine(text=line, rule="blank", reason="blank line")
    request = ConversionRequest(
        path=path or Path("line"), data=b"", layout=layout, dtype=dtype, mma_k_table=mma_k_table
    )
    try:
        compiled, arguments = grammar.split(text)
    except LineError as error:
        return ExplainedLine(text=text, errors=_columns(error.problems))
    return _Explanation(text, compiled, arguments, request).result()


class _Explanation:
    def __init__(
        self, text: str, compiled: CompiledFamily, arguments: Sequence[Argument], request: ConversionRequest
    ) -> None:
        self._text = text
        self._compiled = compiled
        self._arguments = arguments
        self._request = request

    def result(self) -> ExplainedLine:
        family = self._compiled.family
        outcome: dict[str, Any] = {}
        if family.refusal:
            outcome = {"rule": "unsupported-family", "reason": f"{family.title}: {family.refusal}"}
        else:
            try:
                outcome = self._derive()
            except LineError as error:
                outcome = {"errors": _columns(error.problems)}
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
        facts = FileFacts.of_request(self._request).of_line(compiled, values, 1)
        if isinstance(facts, FactProblem):
            raise LineError(Problem(facts.message, self._start_of(facts.field)))
        stated = dict(values)
        for step in compiled.steps:
            try:
                dropped = step(values, facts)
            except StepError as error:
                raise LineError(Problem(error.message, self._start_of(error.field))) from None
            if dropped is not None:
                return {"rule": dropped.rule, "reason": dropped.reason}
        return {"record": tuple(self._keys(values, stated))}

    def _keys(self, values: dict[str, Any], stated: dict[str, Any]) -> list[ExplainedKey]:
        positions = {
            field.name: position
            for position, (field, _) in enumerate(
                zip(self._compiled.family.fields, self._arguments, strict=False), 1
            )
        }
        keys = []
        for name in self._record_keys():
            if name not in stated or stated[name] != values[name]:
                origin = "derived"
            elif name in positions:
                origin = f"argument {positions[name]}"
            else:
                origin = "fixed"
            keys.append(ExplainedKey(name=name, value=values[name], origin=origin))
        return keys

    def _fields(self) -> list[ExplainedField]:
        keys = set(self._record_keys())
        fields = []
        for position, (field, argument) in enumerate(
            zip(self._compiled.family.fields, self._arguments, strict=False), 1
        ):
            value = read_field(field, argument, position)
            wrong = isinstance(value, Problem)
            fields.append(
                ExplainedField(
                    position=position,
                    name=field.name,
                    text=argument.text,
                    column=argument.start + 1,
                    read=field.read,
                    value=None if wrong else value,
                    becomes=(field.name,) if field.read and field.name in keys else (),
                    error=value.message if wrong else "",
                )
            )
        return fields

    def _record_keys(self) -> tuple[str, ...]:
        record_type = self._compiled.family.record_type
        return record_type.__struct_fields__[1:] if record_type is not None else ()

    def _start_of(self, name: str) -> int:
        for field, argument in zip(self._compiled.family.fields, self._arguments, strict=False):
            if field.name == name:
                return argument.start
        return 0


def _columns(problems: Sequence[Problem]) -> tuple[tuple[int, str], ...]:
    return tuple((problem.start + 1, problem.message) for problem in problems)
