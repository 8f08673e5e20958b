"""How an instance stands in a catalog and in a conf."""

from __future__ import annotations

import msgspec

from ckprof.model.strings.argument_kinds import POSITIVE, words
from ckprof.model.strings.fields import Field
from ckprof.model.strings.kind import StringKind
from ckprof.model.types import DataType
from ckprof_converters.conf_family import ConfFamily

#: ``variant`` of the family's catalogs
VARIANT = "forward_naive_gather"
#: types that the kernels have
DTYPES = (DataType.FP32, DataType.FP16, DataType.BF16)


class NaiveGatherRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One instance in a catalog; the order of the fields is the order of the keys."""

    id: int
    rows: int
    channels: int


#: ``NaiveGatherForward<fp32,64,4>``: what the kernels print, and what stands in a conf
STRINGS = StringKind(
    id="naive_gather",
    title="naive gather, forward",
    name="NaiveGatherForward",
    direction="fwd",
    fields=(
        Field(name="input_type", kind=words(tuple(dtype.value for dtype in DTYPES))),
        Field(name="rows", kind=POSITIVE),
        Field(name="channels", kind=POSITIVE),
    ),
)

FAMILY = ConfFamily(
    id="naive-gather-forward",
    title=STRINGS.title,
    direction=STRINGS.direction,
    names=(STRINGS.name,),
    fields=STRINGS.fields,
    variant=VARIANT,
    record_type=NaiveGatherRecord,
    layout="nhwgc",
    dtypes=DTYPES,
    dtype_fields=("input_type",),
)
