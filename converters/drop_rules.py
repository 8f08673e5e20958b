"""Why lines of a list give no instance: every rule of the built-in dialects, with what it means.

Reports name rules by their values. A family of a plugin may have rules of its own.
"""

from __future__ import annotations

from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ckprof.model.requirement import UnmetRequirement

if TYPE_CHECKING:
    from collections.abc import Mapping

#: begin comments in lists
COMMENT_MARKS: Final = ("#", ";", "//")


class DropRule(Enum):
    """The rules; a value is what reports and JSON say."""

    COMMENT = "comment"
    BLANK = "blank"
    LOG_TEXT = "log-text"
    DUPLICATE = "duplicate"
    ERROR = "error"
    IRREGULAR_VECTOR = "irregular-vector"
    ONE_WAVE_COVERAGE = "one-wave-coverage"
    THREAD_SHARE = "thread-share"
    STREAM_K_ASYNC_FLOAT = "streamk-async-float"
    UNSUPPORTED_FAMILY = "unsupported-family"
    UNSUPPORTED_DIRECT_LOAD = "unsupported-direct-load"
    MISSING_INFORMATION = "missing-information"
    ELEMENTWISE = "elementwise"
    OPERAND_OPERATION = "operand-operation"
    D_TENSOR_TYPE = "d-tensor-type"

    @property
    def meaning(self) -> str:
        """What the rule says, without the numbers of a line."""
        return MEANINGS[self]


MEANINGS: Final[Mapping[DropRule, str]] = MappingProxyType(
    {
        DropRule.COMMENT: "comment line",
        DropRule.BLANK: "blank line",
        DropRule.LOG_TEXT: "names no instance",
        DropRule.DUPLICATE: "equal to an earlier line in all that a catalog holds",
        DropRule.ERROR: "wrong, and excluded by --lenient",
        DropRule.IRREGULAR_VECTOR: "a vector width is neither 1 nor even",
        DropRule.ONE_WAVE_COVERAGE: "one wave cannot load a side of the tile at once",
        DropRule.THREAD_SHARE: "a vector is wider than what a thread has to load",
        DropRule.STREAM_K_ASYNC_FLOAT: "stream-K kernels of the 32-bit type do not load asynchronously",
        DropRule.UNSUPPORTED_FAMILY: "a family without a counterpart in CK Tile, such as WMMA and DL",
        DropRule.UNSUPPORTED_DIRECT_LOAD: "CK Tile has no direct load for this version of the pipeline",
        DropRule.ELEMENTWISE: "no kernel of CK Tile does that with the elements of the result",
        DropRule.OPERAND_OPERATION: "no kernel does that with operands before it multiplies them",
        DropRule.D_TENSOR_TYPE: "no kernel has D tensors of that type with such a result",
        DropRule.MISSING_INFORMATION: "the dialect does not print a field that nothing else implies",
    }
)

#: ids of the rules whose reasons are shown without being asked for
ANNOUNCED: Final = frozenset(
    rule.value
    for rule in (
        DropRule.MISSING_INFORMATION,
        DropRule.UNSUPPORTED_FAMILY,
        DropRule.UNSUPPORTED_DIRECT_LOAD,
        DropRule.ELEMENTWISE,
        DropRule.OPERAND_OPERATION,
        DropRule.D_TENSOR_TYPE,
    )
)


def rule_of_other_text(line: str, *, log: bool) -> DropRule:
    """Return the rule for a line without an instance.

    :param log: the line is output of a program, where other text is no error.
    """
    if not line.strip():
        return DropRule.BLANK
    return DropRule.LOG_TEXT if log and not line.lstrip().startswith(COMMENT_MARKS) else DropRule.COMMENT


def dropped_by(rule: DropRule, reason: str = "") -> UnmetRequirement:
    """Return why a line gives no instance.

    :param reason: a sentence with the numbers of the line; by default what the rule means.
    """
    return UnmetRequirement(rule=rule.value, message=reason or rule.meaning)
