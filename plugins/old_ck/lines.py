"""The reader of legacy lists as lists of the old library's own kernels: every argument of a line is kept."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from ckprof.model.catalog import CatalogRecord
from ckprof.model.strings import argument_kinds as kinds
from ckprof.model.strings.fields import Field
from ckprof_converters.converter import ConfConverter
from ckprof_converters.drop_rules import DropRule
from ckprof_converters.grammar import Grammar
from ckprof_converters.records import GEMM_DEFAULTS, RecordId
from ckprof_plugins.directions._convolution.layout import CONVOLUTION_TYPES, LAYOUTS
from ckprof_plugins.old_ck.cpp_types import old_classes
from ckprof_plugins.old_ck.joining import SHORT, with_all_arguments

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
    from ckprof.model.strings.argument_kinds import Kind
    from ckprof.plugin.protocols import CatalogVariant
    from ckprof_converters.conf_family import ConfFamily

#: id of the kernel family, and of its library
OLD_CK: Final = "old-ck"
#: direction -> name of its catalogs
VARIANTS: Final = {
    "fwd": "old_ck_forward",
    "bwd_data": "old_ck_bwd_data",
    "bwd_weight": "old_ck_bwd_weight",
}


class OldCkRecord(CatalogRecord, frozen=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """One kernel of the old library: the line that names it."""

    id: RecordId
    #: id of the family of the line
    old_class: str
    #: of the line, as it spells them; those that its revision lacks have the values that this stands for
    arguments: str
    #: what is done with elements, layouts and types of D tensors, types that are not the usual ones: as
    #: records of CK Tile's kernels have them
    elementwise_op: str | None = None
    d_layouts: str | None = None
    dtype_b: str | None = None
    dtype_result: str | None = None
    d_dtypes: str | None = None


class OldLines(ConfConverter):
    """Reads lists for ``--family``, with all arguments of their lines."""

    # asked before the reader of all lists
    id: Final = "ck_old"  # type: ignore[misc]
    label: Final = "legacy lists as the old library's own kernels, for --family old-ck"  # type: ignore[misc]

    def use_families(self, families: Sequence[ConfFamily]) -> None:
        """Read with these families, those of other kernels refused by name.

        :raises PluginError: a table contradicts itself.
        """
        self.grammar = Grammar([_as_old(family) for family in families])

    def recognises(self, request: ConversionRequest) -> bool:
        """Say yes to lists that the kernel family is asked for."""
        return request.library == OLD_CK and super().recognises(request)

    def plan_tree(self, root: Path, reading: ListReading) -> TreePlan | None:
        """Convert the lists of a folder, if the kernel family is asked for."""
        return super().plan_tree(root, reading) if reading.library == OLD_CK else None

    def explain(
        self, text: str, request: ConversionRequest, number: int | None = None
    ) -> ExplainedLine | None:
        """Explain a line, if the kernel family is asked for."""
        return super().explain(text, request, number) if request.library == OLD_CK else None

    def convert(self, request: ConversionRequest) -> Conversion:
        """Convert the whole list. Nothing of its lines is lost; a tree completes type strings.

        :raises InputError: as that of other lists.
        """
        return replace(super().convert(with_all_arguments(request, self.grammar)), lossy={})


#: beginning of the id of a family of lines that are no type -> rule, and why
_REFUSED: Final = {
    SHORT: (
        DropRule.MISSING_INFORMATION,
        "it does not say all template arguments, and no tree of the library has just these instances "
        "(--ck-root names one)",
    ),
    "backward_weight_explicit": (
        DropRule.MISSING_INFORMATION,
        "it names a batched matrix product by a text that does not say all template arguments",
    ),
    "dl_": (DropRule.MISSING_INFORMATION, "no line says all template arguments of its class"),
    "wmma": (
        DropRule.UNSUPPORTED_FAMILY,
        "WMMA instructions of RDNA GPUs, which this family has no device for",
    ),
    "forward_multiple_d": (DropRule.UNSUPPORTED_FAMILY, "an older class than that of the lists"),
}
_OTHERS: Final = (DropRule.UNSUPPORTED_FAMILY, "no convolution kernel of the old library")


def _as_old(family: ConfFamily) -> ConfFamily:
    """Return the table of the same lines with all arguments kept, or one that refuses them."""
    old = old_classes().get(family.id)
    if old is None:
        rule, reason = next((why for id_, why in _REFUSED.items() if family.id.startswith(id_)), _OTHERS)
        counts = family.accepted_counts
        return replace(family, counts=counts, rejection=reason, rejection_rule=rule.value, variant="")

    # of some, lists of CK Tile's kernels know the names alone
    family = old.family

    def join(values: dict[str, Any], properties: ListReading) -> None:
        """Join the arguments again."""
        del properties
        texts = (_text(field.kind, values[field.name]) for field in family.fields)
        values["old_class"], values["arguments"] = family.id, ",".join(texts)

    return replace(
        family,
        variant=VARIANTS[family.direction],
        record_type=OldCkRecord,
        fields=tuple(Field(one.name, _as_text(one.kind), label=one.label) for one in family.fields),
        fixed={name: GEMM_DEFAULTS[name] for name in OldCkRecord.__struct_fields__ if name in GEMM_DEFAULTS},
        # those that are named derive what CK Tile's kernels have
        steps=(join, *(step for step in family.steps if not isinstance(step, str))),
    )


@cache
def _as_text(kind: Kind) -> Kind:
    """Return a kind whose value is what stands in the line; of numbers and pairs, it says that anyway."""
    return replace(kind, parse=str) if kind.meanings else kind


def _text(kind: Kind, value: Any) -> str:
    if kind is kinds.ELEMENT_PAIR:
        return f"Tuple({value},{value})"
    if kind is kinds.WORD_FLAG:
        return {"0": "false", "1": "true"}.get(str(value), str(value).lower())
    return str(value)


def catalog_variants() -> tuple[CatalogVariant, ...]:
    """Return the kinds of catalogs of all directions."""
    from ckprof.plugin.protocols import CatalogVariant

    return tuple(
        CatalogVariant(
            name=name,
            direction=direction,
            record_type=OldCkRecord,
            pipeline=OLD_CK,
            layouts=LAYOUTS,
            dtypes=CONVOLUTION_TYPES,
        )
        for direction, name in VARIANTS.items()
    )
