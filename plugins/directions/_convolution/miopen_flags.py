"""The flags of MIOpenDriver's ``conv``: names, defaults, and which values mean what is computed here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ckprof.model.types import DataType


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """A flag with an integer that says what is computed."""

    short: str
    long: str
    #: the driver's own
    default: int


#: What is computed. Flags of spatial axes are listed D, H, W.
SIZES: Final = {
    "batch": (Flag(short="-n", long="--batchsize", default=100),),
    "in_channels": (Flag(short="-c", long="--in_channels", default=3),),
    "out_channels": (Flag(short="-k", long="--out_channels", default=32),),
    "groups": (Flag(short="-g", long="--group_count", default=1),),
    "forw": (Flag(short="-F", long="--forw", default=0),),
    "spatial_dim": (Flag(short="-_", long="--spatial_dim", default=2),),
    "input": (
        Flag(short="-!", long="--in_d", default=32),
        Flag(short="-H", long="--in_h", default=32),
        Flag(short="-W", long="--in_w", default=32),
    ),
    "filter": (
        Flag(short="-@", long="--fil_d", default=3),
        Flag(short="-y", long="--fil_h", default=3),
        Flag(short="-x", long="--fil_w", default=3),
    ),
    "strides": (
        Flag(short="-#", long="--conv_stride_d", default=1),
        Flag(short="-u", long="--conv_stride_h", default=1),
        Flag(short="-v", long="--conv_stride_w", default=1),
    ),
    "pads": (
        Flag(short="-$", long="--pad_d", default=0),
        Flag(short="-p", long="--pad_h", default=0),
        Flag(short="-q", long="--pad_w", default=0),
    ),
    "dilations": (
        Flag(short="-^", long="--dilation_d", default=1),
        Flag(short="-l", long="--dilation_h", default=1),
        Flag(short="-j", long="--dilation_w", default=1),
    ),
}

#: short and long name -> flag
INTEGER_FLAGS: Final = {
    name: flag for flags in SIZES.values() for flag in flags for name in (flag.short, flag.long)
}


def _named(*rows: tuple[str, str, str]) -> dict[str, str]:
    return {name: value for short, long, value in rows for name in (short, long)}


#: Flags whose value must be this one: anything else is another computation.
FIXED: Final = _named(
    ("-m", "--mode", "conv"),
    ("-b", "--bias", "0"),
    ("-%", "--trans_output_pad_d", "0"),
    ("-Y", "--trans_output_pad_h", "0"),
    ("-X", "--trans_output_pad_w", "0"),
    ("-r", "--pad_val", "0"),
    ("-Z", "--tensor_vect", "0"),
)

#: How pads are meant.
PAD_MODE_FLAGS: Final = ("-z", "--pad_mode")
#: explicit pads; ``conv`` is how some scripts spell it
EXPLICIT_PADS: Final = frozenset({"default", "conv"})
SAME_PADS: Final = "same"
NO_PADS: Final = "valid"

#: Flags that say the memory order of a tensor.
LAYOUT_FLAGS: Final = ("-I", "--in_layout", "-f", "--fil_layout", "-O", "--out_layout")

#: the driver's memory orders of input and output -> layout of catalogs; groups lie inside the channels
LAYOUTS: Final = {
    "NWC": "nwgc",
    "NHWC": "nhwgc",
    "NDHWC": "ndhwgc",
    "NCW": "ngcw",
    "NCHW": "ngchw",
    "NCDHW": "ngcdhw",
}

#: Flags with a value that do not change what is computed; reported as ignored.
IGNORED: Final = frozenset(
    "-i --iter -V --verify -C --verification_cache -t --time -w --wall -s --search -P --printconv "
    "-o --dump_output -d --in_data -e --weights -a --in_bias -D --dout_data -S --solution -G --gpualloc "
    "-L --vector_length -U --wei_cast_type -T --in_cast_type -R --out_cast_type --gpubuffer_check "
    "-A --dump_tensors".split()
)

#: Base argument -> the type that it names. Plain ``conv`` is also what people write without thinking of a
#: type: it names none, though the driver takes :data:`USUAL_DTYPE` then.
BASES: Final[dict[str, DataType | None]] = {
    "conv": None,
    "convfp16": DataType.FP16,
    "convbfp16": DataType.BF16,
}
USUAL_DTYPE: Final = DataType.FP32

#: Base arguments of types that no kernel here has.
UNSUPPORTED_BASES: Final = frozenset({"convint8", "convfp8", "convbfp8"})
