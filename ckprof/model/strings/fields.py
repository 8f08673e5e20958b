"""Single fields of instance strings and list lines, and groups of them that many share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckprof.model.strings import argument_kinds as kinds

if TYPE_CHECKING:
    from ckprof.model.strings.argument_kinds import Kind


# Like kinds, fields are keys of caches.
@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """One argument of a line.

    :param name: key of the value for the steps and the record; the words for messages.
    :param kind: spelling and meaning.
    :param read: ``False`` if the value has no influence: it is checked, then forgotten.
    :param label: text in front of the value, as in ``BlkSize: 256``.
    """

    name: str
    kind: Kind
    read: bool = True
    label: str = ""


def number(name: str) -> Field:
    """A positive integer that is read."""
    return Field(name, kinds.POSITIVE)


def unread(name: str, kind: Kind) -> Field:
    """An argument that is checked but has no influence."""
    return Field(name, kind, read=False)


def unread_all(kind: Kind, *names: str) -> tuple[Field, ...]:
    """Several arguments of one kind that have no influence."""
    return tuple(unread(name, kind) for name in names)


NDIM = number("ndim")
SPECIALIZATION = Field("specialization", kinds.SPECIALIZATION)
BLOCK_SIZE = number("block_size")
TILE_MN = (number("tile_m"), number("tile_n"))
TILE = (*TILE_MN, number("tile_k"))
MMA = (number("mma_m"), number("mma_n"))
REPEATS = (number("repeat_m"), number("repeat_n"))
VERSION = Field("version", kinds.VERSION)
SCHEDULER = Field("scheduler", kinds.SCHEDULER)
MERGED_GROUPS = number("num_groups_to_merge")
SHUFFLE = unread_all(kinds.INT, "shuffle_repeat_m", "shuffle_repeat_n")
#: read to keep what a catalog can say, and to tell what it cannot
COMPUTE_TYPES = (
    Field("compute_type_a", kinds.ELEMENT_TYPE),
    Field("compute_type_b", kinds.ELEMENT_TYPE),
)
TRANSPOSE = unread_all(kinds.INT, "transpose_source_vector", "transpose_destination_vector")


def layouts(first: str, second: str, third: str, *, with_extra: bool) -> tuple[Field, ...]:
    """The layouts of three tensors; with those of the extra operands before the last one if wanted."""
    extra = (Field("layout_extra", kinds.TUPLE),) if with_extra else ()
    return (
        *(Field(f"layout_{role}", kinds.LAYOUT) for role in (first, second)),
        *extra,
        Field(f"layout_{third}", kinds.LAYOUT),
    )


def operand(letter: str) -> tuple[Field, ...]:
    """How the block loads operand ``a`` or ``b``: seven arguments, of which the vector width is read."""
    return (
        *unread_all(
            kinds.SEQUENCE, f"cluster_lengths_{letter}", f"cluster_order_{letter}", f"access_order_{letter}"
        ),
        unread(f"vector_dim_{letter}", kinds.INT),
        number(f"vector_size_{letter}"),
        unread(f"destination_vector_{letter}", kinds.INT),
        unread(f"lds_extra_{letter}", kinds.FLAG),
    )


#: how the block stores the result: four arguments, of which the vector width is read
RESULT = (*SHUFFLE, unread("cluster_lengths_c", kinds.SEQUENCE), number("vector_size_c"))
