"""The closed sets of values that a GEMM instance is made of, with one table per set.

Spellings of catalogs are the enum values; everything C++ stands in the tables.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Final, TypeVar

from ckprof.errors import InputError
from ckprof.model.types import spellings

if TYPE_CHECKING:
    from collections.abc import Mapping


class GemmPipeline(Enum):
    """CK Tile's block-level GEMM pipelines; the value is the spelling of catalogs and kernel names."""

    COMPV1 = "compv1"
    COMPV2 = "compv2"
    MEM = "mem"
    COMPV3 = "compv3"
    COMPV4 = "compv4"
    COMPV5 = "compv5"
    COMPV6 = "compv6"
    COMP_ASYNC = "comp_async"
    COMP_TDM = "comp_tdm"
    COMP_TDM_V2 = "comp_tdm_v2"
    BASIC_ASYNC_V1 = "basic_async_v1"
    WAVELET = "wavelet"

    @property
    def properties(self) -> GemmPipelineProperties:
        """Everything else that is known about the pipeline."""
        return _GEMM_PIPELINES[self]


#: Second spellings that name the very same kernel.
GEMM_PIPELINE_ALIASES = {
    "basic_v1": GemmPipeline.COMPV1,
    "basic_v2": GemmPipeline.COMPV2,
    "tdm_v1": GemmPipeline.COMP_TDM,
    "tdm_v2": GemmPipeline.COMP_TDM_V2,
}


class SmemBuffering(Enum):
    """How many LDS buffers a GEMM pipeline works with."""

    SINGLE = "single"
    DOUBLE = "double"
    #: ``double_smem_buffer`` decides
    EITHER = "either"


class TailForm(Enum):
    """How a launcher hands the loop properties to the pipeline, and how many of them its callable takes."""

    #: ``TailHandler(Run, has_hot_loop)``
    HOT_LOOP = "hot_loop"
    #: ``TailHandler(Run, has_hot_loop, tail_num)``
    HOT_LOOP_AND_TAIL = "hot_loop_and_tail"
    #: the pipeline resolves the tail itself: ``Run(has_hot_loop, tail_num)``
    DIRECT = "direct"


#: capabilities of architectures
DIRECT_LDS: Final = "direct_lds"
TENSOR_DATA_MOVER: Final = "tensor_data_mover"


@dataclass(frozen=True, slots=True)
class GemmPipelineProperties:
    """One row of the GEMM pipeline table."""

    #: class template of the pipeline
    cpp_class: str
    #: enumerator of ``GemmPipeline``, which is also what instance strings print
    enumerator: str
    #: template arguments after the problem
    arguments: tuple[str, ...] = ()
    tail: TailForm = TailForm.HOT_LOOP_AND_TAIL
    buffering: SmemBuffering = SmemBuffering.EITHER
    #: whether the interwave scheduler exists for it
    interwave: bool = False
    #: tiles of both operands that are in local memory at once: each may take this part of it
    lds_stages: int = 1
    #: class template that answers the queries about hot loop and tail, where its name is not ``Base`` and the
    #: pipeline's
    other_base: str = ""
    #: capability that a device must have; empty for those that run everywhere
    needs: str = ""
    #: the only number of waves that it is laid out for; 0 for any
    waves: int = 0

    @property
    def cpp_base(self) -> str:
        """Class template that answers the queries about hot loop and tail."""
        return self.other_base or f"Base{self.cpp_class}"

    @property
    def uses_mover(self) -> bool:
        """Whether the tensor data mover copies its tiles."""
        return self.needs == TENSOR_DATA_MOVER

    @property
    def usual_epilogue(self) -> Epilogue:
        """The epilogue where nothing is said of it: results leave as operands come."""
        return Epilogue.TDM if self.uses_mover else Epilogue.CSHUFFLE


def _gemm_pipelines() -> dict[GemmPipeline, GemmPipelineProperties]:
    row = GemmPipelineProperties
    policy = ("GroupedConvUniversalPipelineAgBgCrPolicy",)
    moved = row(
        "GemmPipelineAgBgCrCompTDMV1",
        "COMPUTE_TDM_V1",
        buffering=SmemBuffering.DOUBLE,
        lds_stages=2,
        other_base="BaseGemmPipelineAgBgCrCompTDM",
        needs=TENSOR_DATA_MOVER,
    )
    return {
        GemmPipeline.COMPV1: row(
            "GemmPipelineAGmemBGmemCRegV1",
            "BASIC_V1",
            policy,
            TailForm.HOT_LOOP,
            SmemBuffering.SINGLE,
            interwave=True,
        ),
        GemmPipeline.COMPV2: row(
            "GemmPipelineAGmemBGmemCRegV2",
            "BASIC_V2",
            policy,
            buffering=SmemBuffering.SINGLE,
            interwave=True,
        ),
        GemmPipeline.MEM: row("GemmPipelineAgBgCrMem", "MEMORY", policy, interwave=True),
        GemmPipeline.COMPV3: row("GemmPipelineAgBgCrCompV3", "COMPUTE_V3", policy),
        GemmPipeline.COMPV4: row(
            "GemmPipelineAgBgCrCompV4", "COMPUTE_V4", buffering=SmemBuffering.DOUBLE, lds_stages=2
        ),
        GemmPipeline.COMPV5: row("GemmPipelineAgBgCrCompV5", "COMPUTE_V5"),
        GemmPipeline.COMPV6: row("GemmPipelineAgBgCrCompV6", "COMPUTE_V6", lds_stages=2),
        GemmPipeline.COMP_ASYNC: row(
            "GemmPipelineAgBgCrCompAsync",
            "COMPUTE_ASYNC",
            buffering=SmemBuffering.DOUBLE,
            lds_stages=2,
            needs=DIRECT_LDS,
        ),
        GemmPipeline.COMP_TDM: moved,
        GemmPipeline.COMP_TDM_V2: replace(
            moved, cpp_class="GemmPipelineAgBgCrCompTDMV2", enumerator="COMPUTE_TDM_V2", waves=4
        ),
        GemmPipeline.BASIC_ASYNC_V1: row(
            "GemmPipelineAGmemBGmemCRegAsyncV1",
            "BASIC_ASYNC_V1",
            tail=TailForm.HOT_LOOP,
            buffering=SmemBuffering.SINGLE,
            other_base="BaseGemmPipelineAGmemBGmemCRegV1",
            needs=DIRECT_LDS,
        ),
        GemmPipeline.WAVELET: row(
            "GemmPipelineAgBgCrWavelet",
            "WAVELET",
            # the number of waves that only load
            (*policy, "4"),
            TailForm.DIRECT,
            SmemBuffering.SINGLE,
            interwave=True,
            other_base="GemmPipelineAgBgCrWavelet",
        ),
    }


_GEMM_PIPELINES = _gemm_pipelines()


class Scheduler(Enum):
    """How the instructions of the waves of a block are interleaved."""

    INTRAWAVE = "intrawave"
    INTERWAVE = "interwave"

    @property
    def enumerator(self) -> str:
        """Enumerator of ``GemmPipelineScheduler``, which is also what instance strings print."""
        return self.value.capitalize()


class Epilogue(Enum):
    """How results leave the registers, as catalogs and kernel names say it.

    The first two are a label only: upstream's kernels end in the CShuffle epilogue whichever it is, and so do
    these.
    """

    CSHUFFLE = "cshuffle"
    DEFAULT = "default"
    #: the tensor data mover stores tiles; with the GEMM pipelines that load through it, and only with them
    TDM = "tdm"


class ChannelPadding(Enum):
    """Whether copies of a launcher that pads channels are part of the time."""

    INSIDE = "inside"
    OUTSIDE = "outside"


class Specialization(Enum):
    """Convolutions to which a kernel restricts itself for shorter address arithmetic."""

    DEFAULT = "default"
    FILTER1X1_PAD0 = "filter1x1_pad0"
    FILTER1X1_STRIDE1_PAD0 = "filter1x1_stride1_pad0"
    FILTER3X3 = "filter3x3"

    @property
    def enumerator(self) -> str:
        """Enumerator of ``ConvolutionSpecialization``, which is also what instance strings print."""
        return "".join(word.capitalize() for word in self.value.split("_"))


_Member = TypeVar("_Member", bound=Enum)


def parse(
    kind: type[_Member], field: str, text: str, aliases: Mapping[str, _Member] | None = None
) -> _Member:
    """Return the member of ``kind`` that a catalog spells ``text``.

    :param field: name of the catalog's field, for the message.
    :param aliases: further spellings.
    :raises InputError: no such member.
    """
    if aliases and text in aliases:
        return aliases[text]
    try:
        return kind(text)
    except ValueError:
        names = ", ".join([spellings(kind), *(aliases or ())])
        raise InputError(f"{field} is {text!r}, expected one of {names}") from None


#: what it keeps under way on a compute unit, and the lanes that keep a unit busy
_BYTES_IN_FLIGHT: Final = 32768
_BUSY_LANES: Final = 256
_FEWEST: Final = 2
_MOST: Final = 8


def mem_prefetch_stages(stage_bytes: int, lanes: int) -> int:
    """Return the number of prefetch stages.

    :param stage_bytes: of the tiles of both operands.
    :param lanes: of a block.
    """
    in_flight = _BYTES_IN_FLIGHT // max(1, _BUSY_LANES // lanes)
    return min(max(-(-in_flight // stage_bytes), _FEWEST), _MOST)
