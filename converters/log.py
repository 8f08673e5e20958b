"""Output of ckProfiler: which of its lines name an instance, and where.

An instance may be named many times: with every split of the reduction, as the best one, as one that failed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ckprof_plugins.directions._convolution.ckprofiler_forms import FUSED
from ckprof_plugins.elementwise.combination import Combination

#: a line that only ckProfiler prints; the listing of ``--instances`` has none and is a plain list
_MARK: Final = re.compile(
    rb"^[ \t]*(?:\x1b\[[0-9;]*m)*(?:"
    rb"(?:\[(?:Valid|Not Validated)\] )?Perf:"
    rb"|\[(?:Valid|Error|Not supported)\] [A-Za-z_]"
    rb"|\[[0-9]+\] [A-Za-z_][A-Za-z0-9_]*<"
    rb"|(?:ckProfiler )?found [0-9]+ instances"
    rb"|Best configuration parameters:"
    rb"|IMPORTANT: Generate instances using"
    rb"|[A-Za-z_][A-Za-z0-9_]*<.*>(?:.* does not support this problem| skipped(?:\x1b|[ \t\r]*$))"
    rb")",
    re.MULTILINE,
)

#: escape sequences of terminals: colours, cursor movements, titles
_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")

_NUMBER: Final = r"-?[0-9a-z.+-]+"

#: what stands in front of an instance
_LEAD: Final = re.compile(
    r"\s*(?:"
    rf"(?:\[[A-Za-z ]+\] )?(?:Best )?Perf: *{_NUMBER} ms,(?: *{_NUMBER} TFlops,)?(?: *{_NUMBER} GB/s,)? *"
    r"|\[(?:Error|Not supported|[0-9]+)\] "
    r"|name: "
    r"|Fail info: (?:splitK: -?[0-9]+ )?"
    r")?(?=[A-Za-z_][A-Za-z0-9_]*<)"
)

#: fields after the bracket, as instances of plain matrix products have them
_FIELDS: Final = re.compile(r"(?: [A-Za-z]+: [^ ,<>]+(?:, [A-Za-z]+: [^ ,<>]+)*)?")

#: what follows an instance
_TAIL: Final = re.compile(
    r"(?: does not support this problem| skipped"
    r"|, KBatch -?[0-9]+"
    r"|(?:, SplitK -?[0-9]+(?: \([^()<>]*\))?| \(SplitK=-?[0-9]+\))?(?: \(instance [0-9]+\))?)\s*"
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


@dataclass(frozen=True, slots=True)
class LogText:
    """The instance in a line of a log."""

    #: as the list of the library has it; empty if the line names none
    text: str
    #: zero-based place in the line
    start: int = 0


NO_INSTANCE: Final = LogText("")


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


def instance_in(line: str) -> LogText | None:
    """Return the instance that a line of a log names; ``None`` if it names one in no known way."""
    if "<" not in line:
        return NO_INSTANCE
    plain = without_escapes(line)
    lead = _LEAD.match(plain)
    if lead is None:
        return None if _NAMED.search(plain) else NO_INSTANCE
    end = end_of_fields(plain, plain.rfind(">") + 1)
    # What is cut off, or followed by something unknown, is wrong: its family says how.
    has_fields = end > lead.end() and _TAIL.fullmatch(plain, end)
    text = (plain[lead.end() : end] if has_fields else plain[lead.end() :]).strip()
    return LogText(text, max(line.find(text), 0))
