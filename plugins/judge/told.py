"""What the judge and the engine in its worker tell each other, in files of a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from ckprof.measure.verify.storage import storage_type
from ckprof.measure.worker.sampling import SignedAxis

if TYPE_CHECKING:
    from ckprof.model.computation import TensorView

#: names the folder in which parent and engine leave each other files
VARIABLE: Final = "CKPROF_JUDGE"
#: types of elements that numpy has no numbers of
NOT_IN_NUMPY: Final = ("bf16", "fp8", "bf8")
CANDIDATE_FILE, WORK_FILE, SEEN_FILE = "candidate.json", "work.json", "seen.json"


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """What the engine is told of a problem besides its computation."""

    ndim: int
    #: sizes in the order in which kernels take them
    values: tuple[int, ...]
    split_k: int
    signs: tuple[SignedAxis, ...] = ()
    #: where indices of operands may be exchanged, and those of the result with them
    exchanges: tuple[SignedAxis, ...] = ()
    #: bytes that are touched before a launch, so that caches hold no operands
    flush_bytes: int = 0


class Seen(msgspec.Struct, kw_only=True):
    """What the engine tells of a candidate besides its results."""

    #: what keeps the process from others; empty for nothing
    isolation: str = ""
    #: whether the candidate takes a number of splits
    splits: bool = False
    #: whose arrays it takes: ``numpy`` or ``torch``; empty for machine code
    arrays: str = ""
    #: files that it has imported from its folder
    files: tuple[str, ...] = ()
    #: milliseconds of the shortest launch of nothing lately, which is taken off every time, and what the
    #: median one takes longer: a time may be that much shorter
    hand_over_ms: float = 0.0
    hand_over_spread_ms: float = 0.0
    #: milliseconds of the last launch
    taken_ms: float = 0.0
    #: what it did to seem better
    evidence: str = ""


def described(tensor: TensorView, ocp: bool) -> dict[str, Any]:
    """Return the description of a tensor that a candidate gets."""
    said = {"dtype": tensor.dtype.value, "ocp": ocp}
    return {
        **said,
        "name": tensor.name,
        "lengths": list(tensor.lengths),
        "strides": list(tensor.strides),
        "extent": tensor.extent,
        "storage": storage_type(tensor.dtype).str,
        # numpy has no such type
        "decode": said if tensor.dtype.value in NOT_IN_NUMPY else None,
    }


def stored_bytes(tensor: TensorView) -> int:
    """Return the bytes of a tensor with all of its gaps."""
    elements = tensor.lengths[0] * tensor.strides[0] if tensor.lengths else 1
    return elements * storage_type(tensor.dtype).itemsize
