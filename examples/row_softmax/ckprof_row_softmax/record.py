"""How an instance stands in a catalog and in a list."""

from __future__ import annotations

import msgspec

from ckprof.model.strings.argument_kinds import ELEMENT_TYPE, POSITIVE
from ckprof.model.strings.fields import Field
from ckprof.model.strings.kind import StringKind
from ckprof_converters.conf_family import ConfFamily
from ckprof_row_softmax.operation import RowSoftmax
from ckprof_row_softmax.problem import LAYOUTS

#: ``variant`` of the family's catalogs
VARIANT = "row_softmax"


class RowSoftmaxRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One instance in a catalog; the order of the fields is the order of the keys."""

    id: int
    rows: int
    step: int


#: ``RowSoftmax<fp16,4,8>``: what the kernels print, and what stands in a list
STRINGS = StringKind(
    id="row_softmax",
    title="softmax over rows",
    name="RowSoftmax",
    direction=RowSoftmax.id,
    fields=(
        Field(name="input_type", kind=ELEMENT_TYPE),
        Field(name="rows", kind=POSITIVE),
        Field(name="step", kind=POSITIVE),
    ),
)

FAMILY = ConfFamily(
    id="row-softmax",
    title=STRINGS.title,
    direction=STRINGS.direction,
    names=(STRINGS.name,),
    fields=STRINGS.fields,
    variant=VARIANT,
    record_type=RowSoftmaxRecord,
    layouts=LAYOUTS,
    layout=LAYOUTS[0].name,
    dtype_fields=("input_type",),
)
