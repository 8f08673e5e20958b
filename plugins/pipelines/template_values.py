"""What the headers of GEMM kernels show, as plain strings and numbers.

All C++ spellings are computed here; the templates only lay them out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ckprof.kernels.c_interface import boolean, string_literal
from ckprof.version import __version__
from ckprof_plugins.directions._convolution.kernel import ConvKernel, Zeroing
from ckprof_plugins.elementwise.combination import Functor
from ckprof_plugins.pipelines.family import KernelHeader, includes, rejection, split_k_requirements
from ckprof_plugins.pipelines.gemm_instance import CHANNEL_LAYOUTS, per_channel
from ckprof_plugins.pipelines.vocabulary import ChannelPadding, TailForm

if TYPE_CHECKING:
    from ckprof.model.types import TypeSet
    from ckprof_plugins.directions._convolution.kernel import ConvOperation
    from ckprof_plugins.directions._convolution.layout import ConvLayout
    from ckprof_plugins.elementwise.operations import ElementwiseOp
    from ckprof_plugins.pipelines.gemm_instance import GemmInstance


#: template arguments of most launches
LAUNCH_BOUNDS: Final = "Config::kBlockPerCu"


@dataclass(frozen=True, slots=True, kw_only=True)
class GemmHeader(KernelHeader):
    """The values of one header."""

    literal_fields: ClassVar[tuple[str, ...]] = ("name", "key", "types", "constants")
    #: of the kernel that converts sums: elements of a block, its waves, lanes of a wave
    convert_block: ClassVar[int] = 2048
    convert_waves: ClassVar[int] = 8
    convert_lanes: ClassVar[int] = 64

    #: (name, C++ type) of the Config's type aliases, in groups that are set apart
    types: tuple[tuple[tuple[str, str], ...], ...]
    #: (C++ type, name, value) of the Config's constants, in groups
    constants: tuple[tuple[tuple[str, str, str | int], ...], ...]
    #: types in which the operands are multiplied: what they are rounded to, or their own
    a_factor: str
    b_factor: str
    specialization: str
    #: class template of the epilogue
    epilogue_class: str
    pipeline_class: str
    pipeline_base: str
    #: template arguments of the pipeline
    pipeline_arguments: str
    #: parameters of the callable that starts the kernel
    run_parameters: str
    uses_tail_number: bool
    #: statement that starts the kernel
    run_statement: str
    #: type of what the kernel stores
    stored_type: str
    #: number of elements of the result: C++ factors that are members of the problem
    result_factors: str
    #: what is done with the elements of the result; ``None``: they are stored as they are
    functor: Functor | None = None
    #: C++ type of it, of the D tensors' elements and of their layouts
    combination: str = "element_wise::PassThrough"
    d_types: str = "tuple<>"
    #: it is done with the sums themselves, not with what is left of them in the type of the result
    changes_sums: bool = False
    d_layouts: str = "tuple<>"
    #: the same as rows of a GEMM, where they are not told by the traits
    gemm_d_layouts: str = ""
    d_count: int = 0
    #: the elements of D tensors that a kernel of its own hands to the operation
    combined_d: tuple[str, ...] = ()
    #: name of the layout of D tensors with an element per channel, empty if none may have it; a bit for each
    #: that always has it
    per_channel: str = ""
    channel_flags: int = 0
    fused_host_args: str = ""
    #: what makes a kernel's arguments of the host's
    make_kernel_args: str = "Kernel::MakeKernelArgs"
    #: whether the operation is a kernel of its own, behind the one that stores the sums
    combines: bool = False
    #: whether the operation is a kernel of its own, in front of the one that multiplies what it makes
    changes_operands: bool = False
    #: what such a launcher's text says of D tensors: C++ types of their elements and layouts
    described_d_types: str = ""
    described_d_layouts: str = ""
    #: type of the traits of the convolution
    conv_traits: str = "GroupedConvTraitsType"
    #: template arguments of the launch of that kernel
    combine_bounds: str = LAUNCH_BOUNDS
    #: whether the launcher fills the result with zeros; C++ condition under which it does, empty for always;
    #: and why, as a comment
    zeroes: bool = False
    zeroes_if: str = ""
    zeroing_comment: str = ""
    #: at levels where hot loop and tail are template arguments: whether the GEMM pipeline is instantiated for
    #: each kind of them, splits of a reduction are added up atomically, the support test asks how many blocks
    #: along K a split has, and a problem is taken apart into GEMMs of different depth
    has_tails: bool = False
    splits: bool = False
    counts_split_loops: bool = False
    has_many_gemms: bool = False
    splits_image: bool = False
    epilogue: str = ""
    launch_bounds: str = ""
    #: of stream-K: enumerator of ``StreamKReductionStrategy``, and a C++ truth value
    strategy: str = ""
    persistent: str = ""

    @property
    def fuses(self) -> bool:
        """Whether the kernel that stores the sums does the operation itself."""
        return self.functor is not None and not self.keeps_tensors

    @property
    def keeps_tensors(self) -> bool:
        """Whether the launcher hands further tensors and the operation to a kernel of their own."""
        return self.combines or self.changes_operands

    @property
    def kernel_host_args(self) -> str:
        """The host arguments of the kernel that multiplies."""
        return "gemm_args" if self.changes_operands else "args"

    @property
    def first_combine(self) -> str:
        """What a launch says in front of the kernel that multiplies."""
        return "combine, " if self.changes_operands else ""

    @property
    def stores_combined(self) -> bool:
        """Whether the sums lie in the result before they are combined."""
        return self.combines and self.stored_type == self.operation.c_type


#: why a launcher fills the result with zeros
ZEROING_COMMENTS: Final = {
    Zeroing.NEVER: "",
    Zeroing.ALWAYS: "The kernel does not write elements that no tap of the filter reaches.",
    Zeroing.IF_SPLIT: "Splits add to what is there.",
}

#: alias of a Config for what operands are rounded to
_COMPUTE_TYPE = "ComputeDataType"

#: C++ type of the layout of D tensors with an element per channel
PER_CHANNEL_TYPE: Final = "PerChannel"
#: standard headers of what kernels with an element-wise operation have besides
_FUSED_INCLUDES: Final = ("<array>", "<bit>", "<cmath>", "<utility>", "<vector>")
_NO_D_TENSORS: Final = "std::vector<const void*>(DTensorCount)"
#: what those that change operands have besides
_OPERAND_INCLUDES: Final = ("<type_traits>", '"ckprof_workspace.hpp"')

#: what kernels reject whose results the tensor data mover stores
_UNSPLIT: Final = (
    rejection(
        "split-k",
        "k_batch != 1",
        "split_k = {k_batch}: the tensor data mover stores results, it adds nothing to what is there",
    ),
)

_RUN_PARAMETERS = {
    TailForm.HOT_LOOP: "auto /*has_hot_loop*/",
    TailForm.HOT_LOOP_AND_TAIL: "auto /*has_hot_loop*/, auto /*tail_num*/",
    TailForm.DIRECT: "bool /*has_hot_loop*/, TailNumber /*tail_num*/",
}

_RUN_STATEMENTS = {
    TailForm.HOT_LOOP: "BaseGemmPipeline::TailHandler(Run, has_hot_loop);",
    TailForm.HOT_LOOP_AND_TAIL: "BaseGemmPipeline::TailHandler(Run, has_hot_loop, tail_num);",
    TailForm.DIRECT: "Run(has_hot_loop, tail_num);",
}


def gemm_values(
    instance: GemmInstance,
    operation: ConvOperation,
    name: str,
    arch: str,
    further_includes: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Return the arguments of :class:`GemmHeader` for an instance; a family replaces what differs.

    :param name: the kernel's.
    :param further_includes: files after those of every GEMM kernel.
    """
    properties = instance.gemm_pipeline.properties
    rounded_to = instance.compute_type.properties.cpp_type if instance.compute_type else ""
    wrapper, wrapper_arguments = _wrapper(instance, operation)
    fused = _fused_values(instance, operation)
    return {
        "version": __version__,
        "name": name,
        "key": instance.key,
        "variant": operation.variant,
        "operation": operation,
        "includes": includes(
            "ck_tile/ops/epilogue.hpp",
            *(("ck_tile/ops/epilogue/tdm_epilogue.hpp",) if properties.uses_mover else ()),
            operation.kernel_header,
            "ck_tile/ops/grouped_convolution/pipeline/grouped_conv_universal_pipeline_ag_bg_cr_policy.hpp",
            *further_includes,
        ),
        "unmet_requirements": _UNSPLIT if properties.uses_mover else split_k_requirements(operation),
        "deduces_split_k": operation.deduces_split_k and not properties.uses_mover,
        "types": _types(_cpp_types(instance.types), rounded_to, instance.layout),
        "a_factor": f"Config::{_COMPUTE_TYPE}" if rounded_to else operation.a_type,
        "b_factor": f"Config::{_COMPUTE_TYPE}" if rounded_to else operation.b_type,
        "constants": (
            _sizes("M_Tile N_Tile K_Tile", instance.tile.sizes),
            _sizes("M_Warp N_Warp K_Warp", instance.wave_grid.sizes),
            _sizes("M_Warp_Tile N_Warp_Tile K_Warp_Tile", instance.mma_tile.sizes),
            _sizes("VectorSizeA VectorSizeB VectorSizeC", instance.vector_sizes),
            _pads(instance.pads),
            (
                ("GemmPipeline", "Pipeline", f"GemmPipeline::{instance.gemm_pipeline.properties.enumerator}"),
                (
                    "GemmPipelineScheduler",
                    "Scheduler",
                    f"GemmPipelineScheduler::{instance.scheduler.enumerator}",
                ),
                ("bool", "DoubleSmemBuffer", boolean(instance.double_smem_buffer)),
                ("bool", "UseCShuffleEpilogue", boolean(not properties.uses_mover)),
                ("int", "kBlockPerCu", instance.block_per_cu),
                ("index_t", "NumWaveGroups", instance.num_wave_groups),
                ("index_t", "NumGroupsToMerge", instance.num_groups_to_merge),
                ("bool", "EnableSplitImage", boolean(instance.split_image)),
                ("bool", "ExplicitGemm", boolean(instance.explicit_gemm)),
                ("index_t", "NDimSpatial", instance.ndim),
                ("const char*", "TargetArch", string_literal(arch)),
            ),
        ),
        "specialization": instance.specialization.enumerator,
        "epilogue_class": "TdmEpilogue" if properties.uses_mover else "CShuffleEpilogue",
        "pipeline_class": properties.cpp_class,
        "pipeline_base": properties.cpp_base,
        "pipeline_arguments": ", ".join(("UniversalGemmProblem", *properties.arguments)),
        "run_parameters": _RUN_PARAMETERS[properties.tail],
        "uses_tail_number": properties.tail is not TailForm.HOT_LOOP,
        "run_statement": _RUN_STATEMENTS[properties.tail],
        "stored_type": operation.c_type,
        "result_factors": " * ".join(f"param.{member}" for member in operation.result_factors),
        **fused,
        "further_includes": (
            *fused.get("further_includes", ()),
            *([f'"ckprof_{wrapper}.hpp"'] if wrapper else []),
        ),
        "wrapper": wrapper and f"ckprof::{wrapper}",
        "wrapper_arguments": wrapper_arguments,
    }


def _wrapper(instance: GemmInstance, operation: ConvOperation) -> tuple[str, str]:
    """Return the name of a launcher around the kernel's, and its arguments; empty for most instances."""
    if instance.fold_stride:
        return "folded_stride", ""
    if instance.channel_padding is None:
        return "", ""
    c, k = instance.channel_multiples(operation.tensors)
    inside = boolean(instance.channel_padding is ChannelPadding.INSIDE)
    arguments = f"ckprof::conv_tensor::{operation.result}, {c}, {k}, {inside}, {LAUNCH_BOUNDS}"
    return "padded_channels", f", {arguments}"


def _fused_values(instance: GemmInstance, operation: ConvOperation) -> dict[str, Any]:
    """Return what the headers of kernels with an element-wise operation show besides."""
    if instance.elementwise_op is None:
        return {}
    if instance.elementwise_op.properties.operands:
        return _operand_values(instance.elementwise_op, instance, operation)
    result_layout = f"Config::{operation.result_layout}"
    channels = CHANNEL_LAYOUTS.get(operation.result, "")
    layouts = [PER_CHANNEL_TYPE if per_channel(name) else result_layout for name in instance.d_tensors]
    d_types = f"tuple<{', '.join(_d_types(instance, operation.c_type))}>"
    d_layouts = f"tuple<{', '.join(layouts)}>"
    values = {
        "functor": Functor.of(
            instance.elementwise_op, to_integers=instance.types.result.properties.is_integer
        ),
        "changes_sums": instance.types.changes_sums,
        "d_count": len(layouts),
        "combined_d": tuple(
            f"d[{d}][{f'd_per_channel[{d}] ? channel : element' if channels else 'element'}]"
            for d in range(len(layouts))
        ),
        "per_channel": channels,
        "channel_flags": sum(2**d for d, name in enumerate(instance.d_tensors) if per_channel(name)),
        "no_d_tensors": _NO_D_TENSORS,
        "own_host_args": "HostArgs",
        "further_includes": _FUSED_INCLUDES,
        "fused_host_args": operation.host_args.replace("<>", "<Elementwise>"),
    }
    if operation.kernel is not ConvKernel.FORWARD:
        return values | {
            "combines": True,
            "described_type": "Described",
            "described_d_types": d_types,
            "described_d_layouts": d_layouts,
        }
    return values | {
        "combination": "Elementwise",
        "d_types": d_types,
        "d_layouts": d_layouts,
        "gemm_d_layouts": f"tuple<{', '.join(('tensor_layout::gemm::RowMajor',) * len(layouts))}>",
        "make_kernel_args": "make_kernel_args",
    }


def _operand_values(
    made_by: ElementwiseOp, instance: GemmInstance, operation: ConvOperation
) -> dict[str, Any]:
    """Return what the headers of kernels show whose operands are made from two tensors each."""
    functor = Functor.of(made_by, to_integers=instance.dtype.properties.is_integer)
    return {
        "functor": functor,
        "changes_operands": True,
        "d_count": len(functor.operands),
        "no_d_tensors": _NO_D_TENSORS,
        "own_host_args": "HostArgs",
        "further_includes": (*_FUSED_INCLUDES, *_OPERAND_INCLUDES),
        "fused_host_args": operation.host_args,
    }


def _cpp_types(types: TypeSet) -> tuple[str, str, str, str]:
    """Return the types of input, weight, sums and output, where operands differ only in forward."""
    first, second = types.operands
    return tuple(dtype.properties.cpp_type for dtype in (first, second, types.acc, types.result))  # type: ignore[return-value]


def _d_types(instance: GemmInstance, result: str) -> list[str]:
    """Return the C++ types of the D tensors.

    :param result: name of the result's.
    """
    types = instance.types
    own = types.further_of(len(instance.d_tensors))
    return [result if dtype is types.result else dtype.properties.cpp_type for dtype in own]


@lru_cache(maxsize=64)
def _types(
    elements: tuple[str, str, str, str], rounded_to: str, layout: ConvLayout
) -> tuple[tuple[tuple[str, str], ...], ...]:
    layouts = "tensor_layout::convolution"
    input_, weight, sums, output = elements
    return (
        (
            ("InDataType", input_),
            ("WeiDataType", weight),
            ("AccDataType", sums),
            ("OutDataType", output),
            *(((_COMPUTE_TYPE, rounded_to),) if rounded_to else ()),
        ),
        (
            ("InLayout", f"{layouts}::{layout.input}"),
            ("WeiLayout", f"{layouts}::{layout.weight}"),
            ("OutLayout", f"{layouts}::{layout.output}"),
        ),
    )


@lru_cache(maxsize=2048)
def _sizes(names: str, values: tuple[int, int, int]) -> tuple[tuple[str, str, int], ...]:
    return tuple(("index_t", name, value) for name, value in zip(names.split(), values, strict=True))


@lru_cache(maxsize=8)
def _pads(pads: tuple[bool, bool, bool]) -> tuple[tuple[str, str, str], ...]:
    return tuple(("bool", f"kPad{axis}", boolean(pad)) for axis, pad in zip("MNK", pads, strict=True))
