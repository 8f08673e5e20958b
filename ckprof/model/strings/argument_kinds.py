"""What a single argument of a list line may look like, and what it means.

Each kind is a regular expression, a parser for text that matches it, and words for the message when it does
not. The expressions have no groups: the grammar joins them into one expression per family.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


# Kinds are keys of caches: they are compared by identity, since hashing their parts would take longer.
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Kind:
    """The spelling and the meaning of one kind of argument.

    :param expected: words after "expected" in messages, e.g. ``an integer``.
    :param pattern: regular expression without groups that matches the whole argument.
    :param parse: value of a matching text.
    :param hint: a better ``expected`` for certain wrong texts, or an empty string.
    """

    expected: str
    pattern: str
    parse: Callable[[str], Any] = str
    hint: Callable[[str], str] = field(default=lambda _text: "")
    #: spelling -> meaning, for kinds of a closed list
    meanings: Mapping[str, Any] = field(default_factory=dict)

    def matches(self, text: str) -> bool:
        """Say whether ``text`` is a spelling of this kind."""
        return re.fullmatch(self.pattern, text) is not None

    def wanted(self, text: str) -> str:
        """Return what was expected instead of the wrong ``text``."""
        return self.hint(text) or self.expected


def choice(meanings: Mapping[str, Any]) -> Kind:
    """Return the kind whose spellings are the keys of ``meanings``."""
    return Kind(
        expected=f"one of {', '.join(meanings)}",
        pattern="|".join(re.escape(spelling) for spelling in sorted(meanings, key=len, reverse=True)),
        parse=dict(meanings).__getitem__,
        meanings=dict(meanings),
    )


def spelled(kind: Kind) -> dict[Any, str]:
    """Return meaning -> spelling of a kind of a closed list; the first of several spellings counts."""
    spellings: dict[Any, str] = {}
    for spelling, meaning in kind.meanings.items():
        spellings.setdefault(meaning, spelling)
    return spellings


def words(spellings: Iterable[str]) -> Kind:
    """Return the kind of a closed list of words that mean themselves."""
    return choice({spelling: spelling for spelling in spellings})


def _hint_for_counts(text: str) -> str:
    return "an integer of at most nine digits" if re.fullmatch("[0-9]{10,}", text) else ""


def _hint_for_extents(text: str) -> str:
    if not re.fullmatch("-?[0-9]+", text):
        return "an integer"
    return "an integer of at most nine digits" if len(text.lstrip("-")) > 9 else "a positive integer"


#: a count that may be zero
INT = Kind(expected="an integer", pattern="[0-9]{1,9}", parse=int, hint=_hint_for_counts)
#: an extent, a vector width, a number of waves
POSITIVE = Kind(expected="an integer", pattern="[1-9][0-9]{0,8}", parse=int, hint=_hint_for_extents)
#: every boolean slot of every dialect takes both spellings
FLAG = choice({"0": False, "1": True, "false": False, "true": True})
#: a boolean slot that only ever prints words
WORD_FLAG = choice({"false": False, "true": True})
#: the kinds of boolean slots
FLAGS = (FLAG, WORD_FLAG)
#: the four spellings of a flag -> the one by which they are compared
FLAG_NORMAL = {"0": "0", "1": "1", "false": "0", "true": "1"}
#: name of something that is done
OPERATION = Kind(expected="the name of an operation", pattern="[A-Za-z_][A-Za-z0-9_]*")
LAYOUT = Kind(expected="a tensor layout", pattern="[A-Z]{3,8}")
TUPLE = Kind(expected="a tuple", pattern=r"EmptyTuple|[Tt]uple\([A-Za-z0-9_, ]*\)")
ELEMENT_TYPE = words(("fp32", "fp16", "bf16", "tf32", "fp64", "fp8", "bf8", "s8", "s32"))


def elements_of(text: str) -> tuple[str, ...]:
    """Return the elements of a tuple as strings spell it; none of ``EmptyTuple``."""
    match = re.fullmatch(r"[Tt]uple\((.*)\)", text)
    return tuple(element.strip() for element in match[1].split(",")) if match and match[1].strip() else ()


#: one type for two tensors that are made into one; its value is that type, and what strings of kernels say
ELEMENT_PAIR = Kind(
    expected="a pair of one type, such as Tuple(fp16,fp16)",
    pattern="|".join(rf"[Tt]uple\({name} *, *{name}\)" for name in ELEMENT_TYPE.meanings),
    parse=lambda text: elements_of(text)[0],
)
#: the type of an operand of one tensor, or of one that is made of two
OPERAND_TYPE = Kind(
    expected=f"{ELEMENT_TYPE.expected} or {ELEMENT_PAIR.expected}",
    pattern=f"{ELEMENT_TYPE.pattern}|{ELEMENT_PAIR.pattern}",
)
SEQUENCE = Kind(expected="a sequence such as Seq(4,64,1)", pattern=r"Seq\((?:[0-9]+(?: *, *[0-9]+)*)?\)")
GEMM_PADDING = Kind(expected="a padding such as MNKPadding", pattern="Default|[MNKO]{1,4}Padding")
#: orders of the three matrices of a GEMM, row or column
MATRIX_ORDERS = Kind(expected="three matrix orders such as CRR", pattern="[CR]{3}")

SPECIALIZATION = choice(
    {
        "Default": "default",
        "OddC": "default",
        "Filter1x1Pad0": "filter1x1_pad0",
        "Filter1x1Stride1Pad0": "filter1x1_stride1_pad0",
        "Filter3x3": "filter3x3",
    }
)
SCHEDULER = choice({"Intrawave": "intrawave", "Interwave": "interwave"})
#: CK Tile's own kernels know a third one
TILE_SCHEDULER = choice({"Intrawave": "intrawave", "Interwave": "interwave", "Default": "default"})
#: the loop scheduler of backward data, where Default is intra-wave
LOOP_SCHEDULER = choice({"Default": "intrawave", "Intrawave": "intrawave", "Interwave": "interwave"})
VERSION = words(("v1", "v2", "v3", "v4", "v5"))
#: short type strings also name the sixth version
SHORT_VERSION = words(("v1", "v2", "v3", "v4", "v5", "v6"))
#: number of a stream-K reduction strategy -> what the catalog says
REDUCTION = choice({"0": "0", "1": "LINEAR", "2": "TREE"})


def extents(count: int) -> Kind:
    """Return the kind of ``count`` positive integers joined by ``x``."""
    return Kind(
        expected=f"{count} integers joined by x",
        pattern="x".join(["[1-9][0-9]{0,8}"] * count),
        parse=lambda text: tuple(int(part) for part in text.split("x")),
    )


def _parse_vectors(text: str) -> tuple[int, int, int]:
    a, b, c = text.split("x")
    return int(a), int(b), int(c.removeprefix("Seq(").removesuffix(")"))


#: vector widths of an explicit-GEMM line; the third one is a sequence of one number
VECTORS = Kind(
    expected="vector widths such as 8x8xSeq(4)",
    pattern=r"[1-9][0-9]{0,8}x[1-9][0-9]{0,8}xSeq\([1-9][0-9]{0,8}\)",
    parse=_parse_vectors,
)
