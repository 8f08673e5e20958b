"""The closed sets of values that a GEMM instance is made of, with one table per set.

Spellings of catalogs are the enum values; everything C++ stands in the tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeVar

from ckprof.errors import InputError
from ckprof.model.dtype import spellings

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
    BASIC_ASYNC_V1 = "basic_async_v1"
    WAVELET = "wavelet"

    @property
    def properties(self) -> GemmPipelineProperties:
        """Everything else that is known about the pipeline."""
        return _GEMM_PIPELINES[self]


#: Second spellings that name the very same kernel.
GEMM_PIPELINE_ALIASES = {"basic_v1": GemmPipeline.COMPV1, "basic_v2": GemmPipeline.COMPV2}


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


@dataclass(frozen=True, slots=True, kw_only=True)
class GemmPipelineProperties:
    """One row of the GEMM pipeline table."""

    #: class template of the pipeline
    cpp_class: str
    #: class template that answers the queries about hot loop and tail
    cpp_base: str
    #: enumerator of ``GemmPipeline``, which is also what instance strings print
    enumerator: str
    #: template arguments behind the problem
    arguments: tuple[str, ...] = ()
    tail: TailForm = TailForm.HOT_LOOP_AND_TAIL
    buffering: SmemBuffering = SmemBuffering.EITHER
    #: whether the interwave scheduler exists for it
    interwave: bool = False
    #: tiles of both operands that are in local memory at once: each may take this part of it
    lds_stages: int = 1


_POLICY = "GroupedConvUniversalPipelineAgBgCrPolicy"

#: Number of waves that only load, for the wavelet pipeline.
_WAVELET_LOAD_WAVES = "4"

_GEMM_PIPELINES = {
    GemmPipeline.COMPV1: GemmPipelineProperties(
        cpp_class="GemmPipelineAGmemBGmemCRegV1",
        cpp_base="BaseGemmPipelineAGmemBGmemCRegV1",
        enumerator="BASIC_V1",
        arguments=(_POLICY,),
        tail=TailForm.HOT_LOOP,
        buffering=SmemBuffering.SINGLE,
        interwave=True,
    ),
    GemmPipeline.COMPV2: GemmPipelineProperties(
        cpp_class="GemmPipelineAGmemBGmemCRegV2",
        cpp_base="BaseGemmPipelineAGmemBGmemCRegV2",
        enumerator="BASIC_V2",
        arguments=(_POLICY,),
        buffering=SmemBuffering.SINGLE,
        interwave=True,
    ),
    GemmPipeline.MEM: GemmPipelineProperties(
        cpp_class="GemmPipelineAgBgCrMem",
        cpp_base="BaseGemmPipelineAgBgCrMem",
        enumerator="MEMORY",
        arguments=(_POLICY,),
        interwave=True,
    ),
    GemmPipeline.COMPV3: GemmPipelineProperties(
        cpp_class="GemmPipelineAgBgCrCompV3",
        cpp_base="BaseGemmPipelineAgBgCrCompV3",
        enumerator="COMPUTE_V3",
        arguments=(_POLICY,),
    ),
    GemmPipeline.COMPV4: GemmPipelineProperties(
        cpp_class="GemmPipelineAgBgCrCompV4",
        cpp_base="BaseGemmPipelineAgBgCrCompV4",
        enumerator="COMPUTE_V4",
        lds_stages=2,
        buffering=SmemBuffering.DOUBLE,
    ),
    GemmPipeline.COMPV5: GemmPipelineProperties(
        cpp_class="GemmPipelineAgBgCrCompV5",
        cpp_base="BaseGemmPipelineAgBgCrCompV5",
        enumerator="COMPUTE_V5",
    ),
    GemmPipeline.COMPV6: GemmPipelineProperties(
        cpp_class="GemmPipelineAgBgCrCompV6",
        cpp_base="BaseGemmPipelineAgBgCrCompV6",
        enumerator="COMPUTE_V6",
        lds_stages=2,
    ),
    GemmPipeline.COMP_ASYNC: GemmPipelineProperties(
        cpp_class="GemmPipelineAgBgCrCompAsync",
        cpp_base="BaseGemmPipelineAgBgCrCompAsync",
        enumerator="COMPUTE_ASYNC",
        lds_stages=2,
        buffering=SmemBuffering.DOUBLE,
    ),
    GemmPipeline.BASIC_ASYNC_V1: GemmPipelineProperties(
        cpp_class="GemmPipelineAGmemBGmemCRegAsyncV1",
        cpp_base="BaseGemmPipelineAGmemBGmemCRegV1",
        enumerator="BASIC_ASYNC_V1",
        tail=TailForm.HOT_LOOP,
        buffering=SmemBuffering.SINGLE,
    ),
    GemmPipeline.WAVELET: GemmPipelineProperties(
        cpp_class="GemmPipelineAgBgCrWavelet",
        cpp_base="GemmPipelineAgBgCrWavelet",
        enumerator="WAVELET",
        arguments=(_POLICY, _WAVELET_LOAD_WAVES),
        tail=TailForm.DIRECT,
        buffering=SmemBuffering.SINGLE,
        interwave=True,
    ),
}


class Scheduler(Enum):
    """How the instructions of the waves of a block are interleaved."""

    INTRAWAVE = "intrawave"
    INTERWAVE = "interwave"

    @property
    def enumerator(self) -> str:
        """Enumerator of ``GemmPipelineScheduler``, which is also what instance strings print."""
        return _SCHEDULERS[self]


_SCHEDULERS = {Scheduler.INTRAWAVE: "Intrawave", Scheduler.INTERWAVE: "Interwave"}


class Epilogue(Enum):
    """How results leave the registers, as catalogs and kernel names say it.

    A label only: upstream's kernels end in the CShuffle epilogue whatever it says, and so do these.
    """

    CSHUFFLE = "cshuffle"
    DEFAULT = "default"


class Specialization(Enum):
    """Convolutions to which a kernel restricts itself for shorter address arithmetic."""

    DEFAULT = "default"
    FILTER1X1_PAD0 = "filter1x1_pad0"
    FILTER1X1_STRIDE1_PAD0 = "filter1x1_stride1_pad0"
    FILTER3X3 = "filter3x3"

    @property
    def enumerator(self) -> str:
        """Enumerator of ``ConvolutionSpecialization``, which is also what instance strings print."""
        return _SPECIALIZATIONS[self]


_SPECIALIZATIONS = {
    Specialization.DEFAULT: "Default",
    Specialization.FILTER1X1_PAD0: "Filter1x1Pad0",
    Specialization.FILTER1X1_STRIDE1_PAD0: "Filter1x1Stride1Pad0",
    Specialization.FILTER3X3: "Filter3x3",
}

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
        known = ", ".join([spellings(kind), *(aliases or ())])
        raise InputError(f"{field} is {text!r}, expected one of {known}") from None
