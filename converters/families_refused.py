"""Families that lists may hold but that have no counterpart in a catalog. Each gives its reason."""

from __future__ import annotations

from typing import Final

from ckprof.strings import ck_tile
from ckprof_converters.family import ConfFamily

_WMMA: Final = "WMMA instructions of RDNA GPUs; the catalogs describe kernels for MFMA instructions"
_DL: Final = "plain dot-product kernels without matrix instructions have no CK Tile counterpart"
_EXTRA_OPERANDS: Final = "extra D operands have no place in a catalog"
_SHORT_BACKWARD_WEIGHT: Final = (
    "this short spelling does not print the MMA tile, so the waves are unknown; "
    "use the full instance strings instead"
)

FAMILIES: Final = (
    ConfFamily(id="wmma", title="WMMA", name_contains=("Device", "Wmma"), refusal=_WMMA),
    ConfFamily(id="dl_forward", title="DL forward", name_contains=("DeviceGroupedConvFwdDl",), refusal=_DL),
    ConfFamily(
        id="dl_backward", title="DL backward", name_contains=("DeviceGroupedConvBwd", "_Dl"), refusal=_DL
    ),
    ConfFamily(
        id="backward_weight_multiple_d",
        title="backward-weight multiple D",
        name_contains=("DeviceGroupedConvBwdWeightMultipleD_Xdl",),
        refusal=_EXTRA_OPERANDS,
    ),
    ConfFamily(
        id="forward_multiple_d",
        title="forward multiple D",
        names=("DeviceGroupedConvFwdMultipleD_Xdl_CShuffle",),
        refusal=_EXTRA_OPERANDS,
    ),
    ConfFamily(
        id="backward_data_v3",
        title="backward-data V3",
        name_contains=("DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffleV3",),
        refusal="the newer backward-data kernels do not print vector widths of the result and the pipeline",
    ),
    ConfFamily(
        id="short_backward_weight",
        title="short backward-weight XDL",
        names=("DeviceGroupedConvBwdWeight_Xdl_CShuffle",),
        counts=(15,),
        refusal=_SHORT_BACKWARD_WEIGHT,
    ),
    ConfFamily(
        id="short_backward_weight_two_stage",
        title="short backward-weight two-stage XDL",
        names=("DeviceGroupedConvBwdWeightTwoStage_Xdl_CShuffle",),
        counts=(18, 20),
        refusal=_SHORT_BACKWARD_WEIGHT,
    ),
    ConfFamily(
        id="native_depthwise",
        title="native depthwise",
        names=(ck_tile.DEPTHWISE.name,),
        marker=",Depthwise,",
        refusal="the text does not say the padding; use GroupedConvolutionForwardDepthwise lines instead",
    ),
)
