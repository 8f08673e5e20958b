"""From bytes to the instances in lines: text checks, comments, annotations, output of ckProfiler.

A file of any size is read piece by piece. In output of ckProfiler an instance may be named many times: with
every split of the reduction, as the best one, as one that failed. Remarks after a line say what the line
itself cannot: ``... # ckprof: two_stage=true, id=7``. Native lines need them for the few fields that CK Tile
does not print. Other readers see a comment.
"""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ckprof.errors import InputError, system_errors
from ckprof.model.strings.grammar import shorten
from ckprof_converters.compiled import LineError, LineProblem
from ckprof_converters.drop_rules import COMMENT_MARKS
from ckprof_converters.records import GemmRecord
from ckprof_plugins.directions._convolution.ckprofiler_forms import FUSED
from ckprof_plugins.elementwise.combination import Combination

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from ckprof.model.catalog import CatalogRecord
    from ckprof.model.conversion import ConversionRequest


#: a line that only ckProfiler prints; the listing of ``--instances`` has none and is a plain list
_MARK: Final = re.compile(
    rb"^[ \t]*(?:\x1b\[[0-9;]*m)*(?:"
    rb"(?:\[(?:Valid|Not Validated)\] )?Perf:"
    rb"|\[(?:Valid|Error|Not supported)\] [A-Za-z_]"
    rb"|\[[0-9]+\] [A-Za-z_][A-Za-z0-9_]*<"
    rb"|(?:ckProfiler )?found [0-9]+ instances"
    rb"|Best configuration parameters:"
    rb"|IMPORTANT: Generate instances using"
    rb"|name: [A-Za-z_][A-Za-z0-9_]*<"
    rb"|[A-Za-z_][A-Za-z0-9_]*<.*>(?:.* does not support this problem| skipped(?:\x1b|[ \t\r]*$))"
    rb")",
    re.MULTILINE,
)

#: escape sequences of terminals: colours, cursor movements, titles
_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")

_NUMBER: Final = r"-?[0-9a-z.+-]+"

#: what lists of Markdown, YAML and programs have in front of an item
_ITEM: Final = r"(?:[-*] +|[0-9]+[.)] +)?[\"'`]?"

#: what they have behind it, as the lists of the library's C++ have
_ITEM_END: Final = r"[\"'`]? *,?"

_FIRST: Final = re.compile(rf"^\s*{_ITEM}(?=[A-Za-z_][A-Za-z0-9_]*<)")

_LAST: Final = re.compile(rf"(?<=>)\s*{_ITEM_END}\s*$")

#: what stands in front of an instance
_LEAD: Final = re.compile(
    r"\s*(?:"
    rf"(?:\[[A-Za-z ]+\] )?(?:Best )?Perf: *{_NUMBER} ms,(?: *{_NUMBER} TFlops,)?(?: *{_NUMBER} GB/s,)? *"
    r"|\[(?:Error|Not supported|[0-9]+)\] "
    r"|name: "
    r"|Fail info: (?:splitK: -?[0-9]+ )?"
    rf"|{_ITEM}"
    r")(?=[A-Za-z_][A-Za-z0-9_]*<)"
)

#: fields after the bracket, as instances of plain matrix products have them
_FIELDS: Final = re.compile(r"(?: [A-Za-z]+: [^ ,<>]+(?:, [A-Za-z]+: [^ ,<>]+)*)?")

#: what follows an instance
_TAIL: Final = re.compile(
    r"(?: does not support this problem| skipped"
    r"|, KBatch -?[0-9]+"
    r"|(?:, SplitK -?[0-9]+(?: \([^()<>]*\))?| \(SplitK=-?[0-9]+\))?(?: \(instance [0-9]+\))?)"
    rf"\s*{_ITEM_END}\s*"
)

#: a command line that someone had printed in front of what it prints
_CALL: Final = re.compile(r"\b(grouped_conv_[a-z_]+)(?: +[0-9-]+){7}")

#: what operations with more than a convolution print of it; the first line of any ends what was said before
_PRINTED: Final = (
    (re.compile(r"\s*input: "), ""),
    (re.compile(r"\s*bias: "), "a bias that is added to the results"),
    (re.compile(r"\s*scale_in: "), "scales that the results are multiplied with"),
)

#: operation -> what it computes beside a convolution; empty where its other arguments decide
_FUSED: Final = {
    form.operations[0]: "" if form.choices.get("element_op") else form.elementwise
    for forms in FUSED.values()
    for form in forms
}

_NAMED: Final = re.compile(r"\b[A-Za-z_][A-Za-z0-9_]*<")


class LogElementwise:
    """What the instances of a log compute beside a convolution, which their names do not say."""

    def __init__(self) -> None:
        self._called = ""
        self._printed = ""

    @property
    def combination(self) -> Combination | None:
        """What the command asks for; ``None`` where there is none, or other arguments decide."""
        return Combination.parse(self._called) if self._called else None

    def read(self, line: str) -> None:
        """Take note of a line."""
        if "<" in line:
            return
        call = _CALL.search(line)
        if call is not None:
            self._called = _FUSED.get(call[1], "")
        for pattern, meaning in _PRINTED:
            if pattern.match(line):
                self._printed = meaning

    @property
    def unknown(self) -> str:
        """What the output says, but not the command; empty if it says nothing."""
        return "" if self._called else self._printed


def looks_like_log(data: bytes) -> bool:
    """Say whether some line is one that only ckProfiler prints."""
    return _MARK.search(data) is not None


def without_escapes(line: str) -> str:
    """Return the line without colours and other escape sequences of terminals."""
    return _ESCAPES.sub("", line) if "\x1b" in line else line


def end_of_fields(text: str, bracket: int) -> int:
    """Return the position after the fields that follow the bracket of an instance, or the bracket itself."""
    fields = _FIELDS.match(text, bracket)
    return bracket if fields is None else fields.end()


def instance_in(line: str) -> tuple[str, int] | None:
    """Return the instance that a line of a log names, as lists have it, and its zero-based place in the line.

    The text is empty if the line names none; ``None`` stands for one that is named in no known way.
    """
    if "<" not in line:
        return "", 0
    plain = without_escapes(line)
    lead = _LEAD.match(plain)
    if lead is None:
        return None if _NAMED.search(plain) else ("", 0)
    end = end_of_fields(plain, plain.rfind(">") + 1)
    # What is cut off, or followed by something unknown, is wrong: its family says how.
    has_fields = _TAIL.fullmatch(plain, end)
    text = (plain[lead.end() : end] if has_fields else plain[lead.end() :]).strip()
    return text, max(line.find(text), 0)


#: characters of the longest line that is read; instance lists have some hundreds
MAX_LINE: Final = 100_000

#: begins a comment, anywhere in a line
_COMMENT: Final = re.compile("|".join(COMMENT_MARKS))

#: tabs and blanks that do not break a line -> blanks, as many: columns stay
_BLANKS: Final = str.maketrans("\t\xa0", "  ")

#: at the beginning of a file, and of each file in what was joined from several
_BYTE_ORDER_MARK: Final = "\ufeff"

#: how lines begin that are UTF-16 text
_UTF16_MARKS: Final = ("\udcff\udcfe", "\udcfe\udcff")


def iterate_lines(request: ConversionRequest) -> Iterator[str]:
    """Yield the physical lines without their ends, of any convention.

    :raises InputError: the content is no text, or a line is too long.
    """
    with system_errors(InputError, "cannot read", request.path):
        stream = request.stream() if request.stream else io.BytesIO(request.data)
        # what is no UTF-8 is kept, so that the error can say where it is
        with io.TextIOWrapper(stream, "utf-8", "surrogateescape") as lines:
            number = 0
            while line := lines.readline(MAX_LINE + 1):
                number += 1
                yield _checked(line, request.path, number).removesuffix("\n")


def _checked(line: str, path: Path, number: int) -> str:
    """Return a line as text: a comment may have been written in any encoding."""
    if len(line) > MAX_LINE and line[-1] != "\n":
        message = f"the line is longer than {MAX_LINE} characters: this is not an instance list"
        raise InputError(message, path, number, 1)
    if number == 1 and line.startswith(_UTF16_MARKS):
        raise InputError("UTF-16 text: save the file as UTF-8", path, 1, 1)
    if "\0" in line:
        message = "NUL byte: this is a binary file or UTF-16 text, not an instance list"
        raise InputError(message, path, number, line.index("\0") + 1)
    if line.isascii():
        return line
    data = line.encode("utf-8", "surrogateescape")
    try:
        return data.decode().removeprefix(_BYTE_ORDER_MARK)
    except UnicodeDecodeError as exc:
        before = data[: exc.start].decode()
        if _COMMENT.search(before):
            return data.decode(errors="replace")
        message = f"byte 0x{data[exc.start]:02x} is not UTF-8 text ({exc.reason}): save the file as UTF-8"
        raise InputError(message, path, number, len(before) + 1) from None


def instance_text(line: str, *, upstream_comments: bool) -> str:
    """Return the line without comment, surrounding blanks, and what makes it an item of another list.

    That is a comma, quotes, or a mark of Markdown or YAML. Empty if nothing is left.

    :param upstream_comments: a comment mark anywhere makes the whole line a comment.
    """
    if upstream_comments and ("#" in line or ";" in line):
        return ""
    found = _COMMENT.search(line)
    text = line if found is None else line[: found.start()]
    return _LAST.sub("", _FIRST.sub("", text, 1)).strip()


def without_comment(line: str) -> str:
    """Return a line of output without a comment that someone has added.

    That is one behind an instance, or a whole line; anything else may be part of what was printed.
    """
    found = _COMMENT.search(line)
    if found is None:
        return line
    before = line[: found.start()]
    return before if ">" in before or not before.strip() else line


def instance_of(line: str, *, log: bool, upstream_comments: bool) -> tuple[str, int]:
    """Return the instance in a line and its zero-based place; an empty text if there is none.

    :param log: the line is output of ckProfiler, where lines that name no instance are no errors.
    :raises LineError: a line of a log names an instance in an unknown way.
    """
    if not log:
        line = without_escapes(line)
        text = instance_text(line, upstream_comments=upstream_comments)
        comment = _COMMENT.search(line)
        if comment and "<" in text and ">" not in text and ">" in line[comment.end() :]:
            message = f"{comment[0]!r} begins a comment, inside of an instance: expected a comma"
            raise LineError(LineProblem(message, comment.start()))
        return text.translate(_BLANKS), max(line.find(text), 0)
    instance = instance_in(without_comment(line))
    if instance is None:
        plain = without_escapes(line)
        start = _NAMED.search(plain)
        assert start is not None  # noqa: S101  # that is what ``None`` says
        raise LineError(begins_here(plain, start.start()))
    return instance[0].translate(_BLANKS), instance[1]


def begins_here(text: str, start: int) -> LineProblem:
    """Return what is wrong with a text in which an instance does not stand first."""
    front = shorten(text[:start].strip())
    return LineProblem(f"the instance begins here: remove what stands in front of it, {front}", start)


ANNOTATION_MARK: Final = "# ckprof:"

_SETTING: Final = re.compile(r'\s*([a-z_]+)=("[^"]*"|[A-Za-z0-9.+-]+)\s*')


_PIPELINE: Final = re.compile(r"\bpipeline=")


def annotation_of(values: Mapping[str, Any]) -> str:
    """Return the annotation that sets these fields, after its blanks; empty if there are none."""
    if not values:
        return ""
    settings = ", ".join(f"{name}={msgspec.json.encode(value).decode()}" for name, value in values.items())
    return f"  {ANNOTATION_MARK} {settings}"


def settings_in(line: str, record_type: type[CatalogRecord]) -> dict[str, Any]:
    """Return the fields that the annotation of a line sets.

    :raises LineError: the annotation is not of the form ``field=value, ...`` with fields of the record.
    """
    start = line.find(ANNOTATION_MARK)
    if start < 0:
        return {}
    start += len(ANNOTATION_MARK)
    types = {field.name: field.type for field in msgspec.structs.fields(record_type)}
    settings: dict[str, Any] = {}
    for setting in line[start:].split(","):
        match = _SETTING.fullmatch(setting)
        if match is None:
            raise LineError(
                LineProblem(f"expected field=value in an annotation, got {shorten(setting.strip())}", start)
            )
        name, text = match.groups()
        if name not in types:
            raise LineError(LineProblem(f"an annotation sets {name}, which catalogs do not have", start))
        try:
            settings[name] = msgspec.json.decode(text, type=types[name])
        except msgspec.MsgspecError:
            raise LineError(
                LineProblem(f"an annotation sets {name} to {shorten(text)}, which it cannot be", start)
            ) from None
        start += len(setting) + 1
    return settings


def stated_operation(line: str) -> str | None:
    """Return the element-wise operation that the annotation of a line says; ``None`` if it says none.

    :raises LineError: the annotation is wrong.
    """
    if "elementwise_op" not in line.partition(ANNOTATION_MARK)[2]:
        return None
    return settings_in(line, GemmRecord).get("elementwise_op")


def states_pipeline(line: str) -> bool:
    """Say whether the annotation of a line says its pipeline, which lists that others wrote never do."""
    return _PIPELINE.search(line.partition(ANNOTATION_MARK)[2]) is not None
