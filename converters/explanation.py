"""What the converter makes of one line, argument by argument: taken down while it reads the line."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from msgspec import UNSET

from ckprof.errors import InputError, ListError
from ckprof.lists.list_files import find_list
from ckprof.model.conversion import ExplainedField, ExplainedLine
from ckprof.model.strings.grammar import shorten
from ckprof_converters.compiled import LineError, LineProblem, read_field

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ckprof.model.conversion import Conversion, ConversionRequest
    from ckprof.model.strings.grammar import Argument
    from ckprof_converters.compiled import CompiledFamily
    from ckprof_converters.conf_family import Step
    from ckprof_converters.grammar import Grammar

#: id and sentence of rules that are no steps
_ANNOTATION: Final = ("annotation", "Take the value that the annotation after the line gives.")
_COMMAND: Final = ("command", "Take the element-wise operation that the command of the log asks for.")


def explain(text: str, request: ConversionRequest, number: int | None, grammar: Grammar) -> ExplainedLine:
    """Explain one line: convert it, alone or in its list, and take down how.

    :param text: a line that stands in no list.
    :param number: of the line in its list; ``None`` for one that stands in none.
    :param grammar: the families, e.g. :attr:`ckprof_converters.converter.ConfConverter.grammar`.
    :raises InputError: the list is no text, or has no such line; the text is the name of a list.
    """
    from ckprof_converters.converter import ConversionRun

    if number is None and "<" not in text:
        _refuse_list(text)

    recorder = LineRecorder(text, number or 1)
    asked = replace(request, lenient=True)
    if number is None:
        asked = replace(asked, data=f"{text}\n".encode(errors="replace"), stream=None)
    given = None
    # a list without an instance
    with suppress(ListError):
        given = _instance_of(ConversionRun(grammar, asked, recorder).convert(""), recorder.number)
    return replace(recorder.explained(), conversion=given)


def _refuse_list(text: str) -> None:
    """Raise an error if the text, or what stands in front of its last colon, is the name of a list.

    :raises InputError: it is; the line is missing, or something else is in its place.
    """
    for name in (text, text.rpartition(":")[0]):
        try:
            path = find_list(name)
        except (InputError, OSError):
            continue
        raise InputError(f"is a list: expected FILE:LINE, such as {name}:1, got {shorten(text)}", path)


def _instance_of(conversion: Conversion, number: int) -> Conversion | None:
    """Return what a line alone gives of a list."""
    catalogs = []
    for catalog in conversion.catalogs:
        lines = (
            (record, conversion.source_lines.get((catalog.variant, record.id))) for record in catalog.records
        )
        records = tuple(record for record, line in lines if line == number)
        catalogs += [replace(catalog, records=records)] if records else []
    return replace(conversion, catalogs=tuple(catalogs)) if catalogs else None


class _Trace(dict[str, Any]):
    """Values of a line that know what each value that a step writes follows from.

    That is what the step has read since it last read something else after writing: steps derive one thing
    after the other.
    """

    def __init__(self, values: Mapping[str, Any], arguments: Iterable[str]) -> None:
        super().__init__(values)
        #: name of a value -> names of the arguments that it follows from
        self.sources: dict[str, frozenset[str]] = {
            name: frozenset((name,)) for name in arguments if name in values
        }
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


class LineRecorder:
    """Takes down what a conversion makes of one line.

    :param number: one-based, of the line in what is converted.
    """

    def __init__(self, text: str, number: int) -> None:
        self.number = number
        self._line = self._text = text
        self._indent = 0
        self._compiled: CompiledFamily | None = None
        self._arguments: Sequence[Argument] = ()
        self._trace = _Trace({}, ())
        #: name of a value -> id and sentence of the rule that derived it
        self._origins: dict[str, tuple[str, str]] = {}
        #: what the line gives
        self._outcome: dict[str, Any] = {}

    def begin(self, line: str) -> None:
        """Take down the line as it stands in the list."""
        self._line = self._text = line

    def start(self, text: str, indent: int, grammar: Grammar, compiled: CompiledFamily | None) -> None:
        """Take down the instance that stands in the line.

        :param compiled: its family; ``None`` for a line that is not printed as usual.
        """
        self._text, self._indent = text, indent
        # what cannot be split the conversion reports
        with suppress(LineError):
            split, self._arguments = grammar.split(text)
            self._compiled = compiled or split

    def traced(self, values: dict[str, Any], stated: str | None) -> dict[str, Any]:
        """Return the values of the line, which steps shall read and write.

        :param stated: the operation that the annotation states.
        """
        self._trace = _Trace(values, self._argument_names())
        if stated is not None:
            self._origins["elementwise_op"] = _ANNOTATION
        return self._trace

    def step(self, step: Step) -> None:
        """Take down what a step has derived."""
        name = getattr(step, "__name__", "rule").replace("_", "-")
        rule = name, (step.__doc__ or "").strip().partition("\n")[0]
        self._origins.update(dict.fromkeys(self._trace.written, rule))
        self._trace.start_step()

    def drop(self, rule: str, reason: str) -> None:
        """Take down why the line gives no instance."""
        self._outcome |= {"rule": rule, "reason": reason}

    def wrong(self, error: LineError, start: int) -> None:
        """Take down what is wrong with the line."""
        self._outcome = {
            "errors": tuple((start + problem.start + 1, problem.message) for problem in error.problems)
        }

    def end(self, row: Sequence[Any], said: Mapping[str, Any], asked: Mapping[str, Any], lossy: str) -> None:
        """Take down the record of the line.

        :param row: its values without the id.
        :param said: what the annotation says of them.
        :param asked: what the command of a log says of them.
        :param lossy: what the line says and the record cannot.
        """
        self._origins.update(dict.fromkeys(said, _ANNOTATION))
        self._origins.update(dict.fromkeys(asked, _COMMAND))
        keys = self._keys(row)
        used = {origin for _, origin in keys.values()}
        rules = {id_: text for id_, text in self._origins.values() if id_ in used}
        self._outcome = {"record": keys, "rules": rules, "lossy": lossy}

    def explained(self) -> ExplainedLine:
        """Return everything that was taken down."""
        if self._compiled is None:
            return ExplainedLine(text=self._line, **self._outcome)
        family = self._compiled.family
        return ExplainedLine(
            text=self._line,
            family=family.id,
            title=family.title,
            direction=family.direction,
            variant=family.variant,
            fields=tuple(self._fields(self._compiled)),
            note=family.note,
            **self._outcome,
        )

    def _keys(self, row: Sequence[Any]) -> dict[str, tuple[Any, str]]:
        positions = {name: position for position, name in enumerate(self._argument_names(), 1)}
        keys: dict[str, tuple[Any, str]] = {}
        left_out = self._left_out()
        for name, value in zip(self._record_keys(), row, strict=True):
            if value is UNSET or (name in left_out and value is None):
                # the record leaves the key out
                continue
            if name in self._origins:
                origin = self._origins[name][0]
            elif name in positions:
                origin = f"argument {positions[name]}"
            else:
                origin = "fixed"
            keys[name] = value, origin
        return keys

    def _fields(self, compiled: CompiledFamily) -> list[ExplainedField]:
        fields = []
        for position, (field, argument) in enumerate(
            zip(compiled.family.fields, self._arguments, strict=False), 1
        ):
            value = read_field(field, argument, position)
            wrong = isinstance(value, LineProblem)
            sources = self._trace.sources
            becomes = [name for name in self._record_keys() if field.name in sources.get(name, ())]
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
        fields = self._compiled.family.fields if self._compiled is not None else ()
        return [field.name for field, _ in zip(fields, self._arguments, strict=False)]

    def _record_keys(self) -> tuple[str, ...]:
        record_type = self._compiled.family.record_type if self._compiled is not None else None
        return record_type.__struct_fields__[1:] if record_type is not None else ()

    def _left_out(self) -> frozenset[str]:
        """Return the keys that a file does not have where nothing is said about them."""
        record_type = self._compiled.family.record_type if self._compiled is not None else None
        if record_type is None or not record_type.__struct_config__.omit_defaults:
            return frozenset()
        defaults = len(record_type.__struct_defaults__)
        return frozenset(record_type.__struct_fields__[len(record_type.__struct_fields__) - defaults :])
