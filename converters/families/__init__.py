"""All families that ship with ckprof."""

from __future__ import annotations

from typing import Final

from ckprof_converters.conf_family import ConfFamily
from ckprof_converters.drop_rules import DropRule
from ckprof_converters.families import backward, forward, native, short
from ckprof_plugins.directions._convolution import string_kinds

_WMMA: Final = "WMMA instructions of RDNA GPUs; the catalogs describe kernels for MFMA instructions"
_DL: Final = "plain dot-product kernels without matrix instructions have no CK Tile counterpart"
_EXTRA_OPERANDS: Final = "extra D operands have no place in a catalog"
#: lists may hold them, but they have no counterpart in a catalog: each gives its reason
_UNSUPPORTED: Final = (
    ConfFamily(id="wmma", title="WMMA", name_contains=("Device", "Wmma"), rejection=_WMMA),
    ConfFamily(id="dl_forward", title="DL forward", name_contains=("DeviceGroupedConvFwdDl",), rejection=_DL),
    ConfFamily(
        id="dl_backward", title="DL backward", name_contains=("DeviceGroupedConvBwd", "_Dl"), rejection=_DL
    ),
    ConfFamily(
        id="forward_multiple_d",
        title="forward multiple D",
        names=("DeviceGroupedConvFwdMultipleD_Xdl_CShuffle",),
        rejection=_EXTRA_OPERANDS,
    ),
    ConfFamily(
        id="native_depthwise",
        title="native depthwise",
        names=(string_kinds.DEPTHWISE.name,),
        marker=",Depthwise,",
        rejection_rule=DropRule.MISSING_INFORMATION.value,
        rejection="pad_h and pad_w are not printed; use GroupedConvolutionForwardDepthwise lines instead",
    ),
)

FAMILIES: Final[tuple[ConfFamily, ...]] = (
    *forward.FAMILIES,
    *backward.WEIGHT_FAMILIES,
    *backward.DATA_FAMILIES,
    *native.FAMILIES,
    *short.FAMILIES,
    *_UNSUPPORTED,
)
