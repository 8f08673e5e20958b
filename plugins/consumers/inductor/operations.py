"""The operations that Inductor's templates take: names and order of fields are an interface.

Fields stand in the order of the template parameters of the device operations, and torch writes them into its
sources in this order. Texts are C++ names that these sources declare, such as ``BF16`` or
``GemmSpecialization::Default``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ckprof.errors import InputError
from ckprof.model.types import DataType

if TYPE_CHECKING:
    from collections.abc import ItemsView, Sequence


#: torch's names of types -> ours
TYPES: Final[Mapping[str, DataType]] = {
    "F16": DataType.FP16,
    "BF16": DataType.BF16,
    "F32": DataType.FP32,
    "F8": DataType.FP8,
    "BF8": DataType.BF8,
    "I8": DataType.INT8,
}
#: operands that it chooses no kernel for
NEVER_CHOSEN: Final = frozenset({DataType.INT8})


Sizes = tuple[int, ...]


@dataclass
class _Operation:
    """What torch calls of every operation."""

    #: beginning of the alias under which the generated C++ names the instance
    alias: ClassVar[str]

    def name(self) -> str:
        """Return the name of the instance in the generated C++: one of its own for each."""
        return f"{self.alias}_{self.key_name()}"

    def key_name(self) -> str:
        """Return all fields as one word."""
        return "_".join(f"K{name.replace('_', '')}V{_word(value)}" for name, value in self.dict_items())

    def dict_items(self) -> ItemsView[str, Any]:
        """Return the fields with their values, in the order of the template parameters."""
        return asdict(self).items()


def _word(value: Any) -> str:
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value).replace(":", "")


@dataclass
class CKGroupedConvFwdOp(_Operation):
    """``DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle_V3``."""

    alias: ClassVar[str] = "ck_device_grouped_convolution_fwd_multiple_abd_xdl_c_shuffle_v3"

    n_dim_spatial: int
    a_layout: str
    b_layout: str
    ds_layout: tuple[str, ...]
    e_layout: str
    a_element_dtype: str
    b_element_dtype: str
    acc_dtype: str
    c_shuffle_dtype: str
    ds_element_dtype: tuple[str, ...]
    e_element_dtype: str
    a_elementwise_op: str
    b_elementwise_op: str
    cde_elementwise_op: str
    conv_forward_specialization: str
    gemm_specialization: str
    block_size: int
    m_per_block: int
    n_per_block: int
    k_per_block: int
    ak1: int
    bk1: int
    m_per_xdl: int
    n_per_xdl: int
    m_xdl_per_wave: int
    n_xdl_per_wave: int
    a_block_transfer_thread_cluster_lengths_ak0_m_ak1: Sizes
    a_block_transfer_thread_cluster_arrange_order: Sizes
    a_block_transfer_src_access_order: Sizes
    a_block_transfer_src_vector_dim: int
    a_block_transfer_src_scalar_per_vector: int
    a_block_transfer_dst_scalar_per_vector_ak1: int
    a_block_lds_extra_m: int
    b_block_transfer_thread_cluster_lengths_bk0_n_bk1: Sizes
    b_block_transfer_thread_cluster_arrange_order: Sizes
    b_block_transfer_src_access_order: Sizes
    b_block_transfer_src_vector_dim: int
    b_block_transfer_src_scalar_per_vector: int
    b_block_transfer_dst_scalar_per_vector_bk1: int
    b_block_lds_extra_n: int
    c_shuffle_m_xdl_per_wave_per_shuffle: int
    c_shuffle_n_xdl_per_wave_per_shuffle: int
    cde_block_transfer_cluster_lengths_m_block_m_per_block_n_block_n_per_block: Sizes
    cde_block_transfer_scalar_per_vector_n_per_block: int
    block_gemm_pipeline_scheduler: str
    block_gemm_pipeline_version: str
    a_compute_dtype: str | None = None
    b_compute_dtype: str | None = None
    #: ``true`` for kernels that load straight into local memory; headers of before have no such parameter
    direct_load: str | None = None


@dataclass
class CKGemmOperation(_Operation):
    """``DeviceGemmMultiD_Xdl_CShuffle_V3``; lists have ``DeviceGemm_Xdl_CShuffleV3``, no more tensors."""

    alias: ClassVar[str] = "ck_devicegemm_multid_xdl_shuffle_v3"

    a_layout: str
    b_layout: str
    ds_layouts: tuple[str, ...]
    c_layout: str
    a_element_dtype: str
    b_element_dtype: str
    ds_element_dtypes: tuple[str, ...]
    c_element_dtype: str
    acc_dtype: str
    c_shuffle_dtype: str
    a_elementwise_op: str
    b_elementwise_op: str
    c_elementwise_op: str
    gemm_specialization: str
    block_size: int
    m_per_block: int
    n_per_block: int
    k_per_block: int
    a_k1: int
    b_k1: int
    m_per_xdl: int
    n_per_xdl: int
    m_xdl_per_wave: int
    n_xdl_per_wave: int
    a_block_transfer_thread_cluster_lengths_ak0_m_ak1: Sizes
    a_block_transfer_thread_cluster_arrange_order: Sizes
    a_block_transfer_src_access_order: Sizes
    a_block_transfer_src_vector_dim: int
    a_block_transfer_src_scalar_per_vector: int
    a_block_transfer_dst_scalar_per_vector_ak1: int
    a_block_lds_extra_m: int
    b_block_transfer_thread_cluster_lengths_bk0_n_bk1: Sizes
    b_block_transfer_thread_cluster_arrange_order: Sizes
    b_block_transfer_src_access_order: Sizes
    b_block_transfer_src_vector_dim: int
    b_block_transfer_src_scalar_per_vector: int
    b_block_transfer_dst_scalar_per_vector_bk1: int
    b_block_lds_extra_n: int
    c_shuffle_m_xdl_per_wave_per_shuffle: int
    c_shuffle_n_xdl_per_wave_per_shuffle: int
    c_shuffle_block_transfer_cluster_lengths_m_block_m_per_block_n_block_n_per_block: Sizes
    #: one number, or one per tensor of the epilogue
    c_shuffle_block_transfer_scalar_per_vector_n_per_block: int | Sizes
    block_gemm_pipeline_scheduler: str
    block_gemm_pipeline_version: str
    a_compute_dtype: str | None = None
    b_compute_dtype: str | None = None


class CKBatchedGemmOperation(CKGemmOperation):
    """``DeviceBatchedGemmMultiD_Xdl_CShuffle_V3``: the same fields."""

    alias: ClassVar[str] = "ck_device_batched_gemm_multi_d_xdl_c_shuffle_v3"


InductorOperation = CKGroupedConvFwdOp | CKGemmOperation


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedClass:
    """A class of the library whose instances Inductor offers."""

    #: folder of its lists below a library folder
    folder: str
    operation: type[CKGroupedConvFwdOp] | type[CKGemmOperation]
    #: positions of fields that lists of the class leave out, which are empty
    inserted: tuple[int, ...] = ()
    #: values of parameters behind those that the operation has, without which it cannot say the instance
    rest: tuple[str, ...] = ()


_GPU: Final = "tensor_operation_instance/gpu"
#: name -> class
CLASSES: Final[Mapping[str, OfferedClass]] = {
    "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle_V3": OfferedClass(
        folder=f"include/ck/library/{_GPU}/grouped_conv_fwd",
        operation=CKGroupedConvFwdOp,
        # merged groups
        rest=("1",),
    ),
    "DeviceGemm_Xdl_CShuffleV3": OfferedClass(
        folder=f"src/{_GPU}/gemm_universal", operation=CKGemmOperation, inserted=(2, 6)
    ),
    "DeviceBatchedGemmMultiD_Xdl_CShuffle_V3": OfferedClass(
        folder=f"src/{_GPU}/gemm_universal_batched", operation=CKBatchedGemmOperation
    ),
}
#: what lists and instance strings say -> what torch's sources declare
_WORDS: Final[Mapping[str, str]] = {
    "fp16": "F16",
    "bf16": "BF16",
    "fp32": "F32",
    "tf32": "TF32",
    "fp8": "F8",
    "bf8": "BF8",
    "int8": "I8",
    "int32": "I32",
    "RowMajor": "Row",
    "ColumnMajor": "Col",
    "true": "1",
    "false": "0",
}
#: field -> enumeration of its values
ENUMERATIONS: Final[Mapping[str, str]] = {
    "conv_forward_specialization": "ConvolutionForwardSpecialization",
    "gemm_specialization": "GemmSpecialization",
    "block_gemm_pipeline_scheduler": "BlockGemmPipelineScheduler",
    "block_gemm_pipeline_version": "BlockGemmPipelineVersion",
}
_SEQUENCE: Final = re.compile(r"Seq\((-?\d+(?:,-?\d+)*)\)")
_NUMBER: Final = re.compile(r"-?\d+")


def operation_of(kind: str, arguments: Sequence[str]) -> InductorOperation:
    """Return an instance as Inductor's templates take it.

    :param kind: name of the class.
    :param arguments: as instance strings print them.
    :raises InputError: the operation cannot say it.
    """
    device = CLASSES[kind]
    columns = fields(device.operation)
    values: list[Any] = list(arguments)
    for position in device.inserted:
        values.insert(position, ())
    least = sum(column.default is MISSING for column in columns)
    if len(values) < least:
        raise InputError(f"has {len(arguments)} arguments, expected {least - len(device.inserted)} or more")
    for value, usual in zip(values[len(columns) :], (*device.rest, None, None), strict=False):
        if value != usual:
            raise InputError(f"has a further argument {value}, which torch's template does not pass on")
    return device.operation(
        *(_value(column.name, value) for column, value in zip(columns, values, strict=False))
    )


def _value(field: str, text: str | tuple[()]) -> Any:
    if not isinstance(text, str) or text == "EmptyTuple":
        return ()
    if field == "direct_load":
        # said where it is true alone
        return "true" if _WORDS.get(text, text) == "1" else None
    sequence = _SEQUENCE.fullmatch(text)
    if sequence is not None:
        return tuple(map(int, sequence[1].split(",")))
    if field in ENUMERATIONS:
        return f"{ENUMERATIONS[field]}::{text}"
    word = _WORDS.get(text, text)
    return int(word) if _NUMBER.fullmatch(word) else word
