"""How device operations of C++ lists become operations of Inductor's templates."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import TYPE_CHECKING, Any, Final

from ckprof.errors import InputError
from ckprof_plugins.consumers.inductor.operations import (
    CKBatchedGemmOperation,
    CKGemmOperation,
    CKGroupedConvFwdOp,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    Operation = CKGroupedConvFwdOp | CKGemmOperation


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceClass:
    """A class of the library whose instances Inductor offers."""

    #: folder of its lists below a library folder
    folder: str
    operation: type[CKGroupedConvFwdOp] | type[CKGemmOperation]
    #: positions of fields that lists of the class leave out, with what they are
    inserted: Mapping[int, tuple[()]]
    #: values of parameters behind those that the operation has, without which it cannot say the instance
    rest: tuple[str, ...] = ()


_GPU: Final = "tensor_operation_instance/gpu"
#: name -> class
CLASSES: Final[Mapping[str, DeviceClass]] = {
    "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle_V3": DeviceClass(
        folder=f"include/ck/library/{_GPU}/grouped_conv_fwd",
        operation=CKGroupedConvFwdOp,
        inserted={},
        # merged groups
        rest=("1",),
    ),
    "DeviceGemm_Xdl_CShuffleV3": DeviceClass(
        folder=f"src/{_GPU}/gemm_universal", operation=CKGemmOperation, inserted={2: (), 6: ()}
    ),
    "DeviceBatchedGemmMultiD_Xdl_CShuffle_V3": DeviceClass(
        folder=f"src/{_GPU}/gemm_universal_batched", operation=CKBatchedGemmOperation, inserted={}
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


def operation_of(kind: str, arguments: Sequence[str]) -> Operation:
    """Return an instance as Inductor's templates take it.

    :param kind: name of the class.
    :param arguments: as instance strings print them.
    :raises InputError: the operation cannot say it.
    """
    device = CLASSES[kind]
    columns = fields(device.operation)
    values: list[Any] = list(arguments)
    for position, value in device.inserted.items():
        values.insert(position, value)
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
