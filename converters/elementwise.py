"""What lines say of element-wise operations, D tensors and element types, or why there is no such kernel."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ckprof.errors import InputError
from ckprof.model.requirement import UnmetRequirement
from ckprof.model.strings.argument_kinds import elements_of
from ckprof.model.types import SHARED_TYPES, DataType
from ckprof_converters.conf_family import StepError
from ckprof_converters.drop_rules import DropRule, dropped_by
from ckprof_converters.lines import ANNOTATION_MARK
from ckprof_plugins.directions._convolution.layout import (
    d_tensor_types,
    result_types,
    types_of,
    weight_types,
)
from ckprof_plugins.elementwise.operation import STORED_AS_IT_IS
from ckprof_plugins.elementwise.operations import COMBINED_OPERATIONS, PLAIN_OPERATIONS, ElementwiseOp
from ckprof_plugins.pipelines.gemm_instance import CHANNEL_LAYOUTS, check_d_layouts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof.model.conversion import ListReading
    from ckprof_converters.conf_family import Step


def element_types(result: str, *, agree: tuple[str, ...]) -> Step:
    """Return the step that keeps the types of the second operand and of the result.

    :param result: name of the field with the type of the result.
    :param agree: names of the fields that must have the type of ``type_a`` where all tensors share one.
    """

    def step(values: dict[str, Any], properties: ListReading) -> None:
        """Keep the types that are not the usual ones of the catalog's type."""
        first, dtype = values["type_a"], properties.dtype
        if dtype is None or dtype in SHARED_TYPES:
            for name in agree:
                if values[name] != first:
                    raise StepError(
                        f"data types within a line must agree: type_a is {first}, {name} is {values[name]}",
                        name,
                    )
            return
        types = {name: DataType.of_string(values[name]) for name in ("type_b", result)}
        for name, found in types.items():
            if found is None:
                raise StepError(f"{name} {values[name]} with type_a {first}: no kernel has these", name)
        weight, stored = types["type_b"], types[result]
        try:
            types_of(dtype, weight, stored)
        except InputError as error:
            raise StepError(error.message, "type_b") from None
        values["dtype_b"] = weight.value if weight and weight is not weight_types(dtype)[0] else None
        values["dtype_result"] = stored.value if stored and stored is not result_types(dtype)[0] else None

    return step


#: how the fields with operations are called, of operands and of the result
_OPERATION: Final = "operation_"
#: the result of the kernels that make operands of several tensors
_OUTPUT: Final = "output"


#: what a kernel does beside the convolution, ``None`` for nothing; layouts and types of its D tensors, as
#: strings spell them
LineEpilogue: TypeAlias = tuple["ElementwiseOp | None", tuple[str, ...], tuple[str, ...]]


@lru_cache(maxsize=256)
def _operand_fields(names: tuple[str, ...], stored: str) -> tuple[str, ...]:
    """Return which fields hold operations on operands: lines of a family have the same fields."""
    return tuple(name for name in names if name.startswith(_OPERATION) and name != stored)


def read_epilogue(
    fields: Mapping[str, Any],
    stored: str,
    result_type: str,
    *,
    result: str,
    operand_tensors: int,
    stated: str | None = None,
) -> LineEpilogue | UnmetRequirement:
    """Return what the kernel of a line does beside the convolution, or by which rule there is none.

    This is the one place that knows, for the converter and for what CK Builder would make of the line.

    :param fields: of the line, by name.
    :param stored: name of the field with the operation on the result.
    :param result_type: spelling of the type of the result.
    :param result: which tensor of the convolution is computed.
    :param operand_tensors: of which each operand is made.
    :param stated: what an annotation says that an operation is which the line calls combined.
    """
    layouts, types = (elements_of(fields.get(name) or "") for name in ("layout_extra", "type_extra"))
    said = fields.get(stored) or STORED_AS_IT_IS
    of_operands = {name: text for name in _operand_fields(tuple(fields), stored) if (text := fields[name])}
    changed = any(text not in PLAIN_OPERATIONS for text in of_operands.values())
    if changed or operand_tensors > 1:
        is_alone = said in PLAIN_OPERATIONS and not layouts and result == _OUTPUT
        return _of_operands(of_operands, tensors=operand_tensors, is_alone=is_alone)
    if said in COMBINED_OPERATIONS:
        if stated is None:
            return dropped_by(
                DropRule.MISSING_INFORMATION,
                f"{said} does not say what it combines; an annotation can, such as "
                f'{ANNOTATION_MARK} elementwise_op="{ElementwiseOp.CONV_SCALE.value}"',
            )
        said = stated
    if said in PLAIN_OPERATIONS:
        if layouts or types:
            return dropped_by(
                DropRule.ELEMENTWISE, f"it has D tensors, but {stored} is {said}, which does not use them"
            )
        return None, (), ()
    dtype = DataType.of_string(result_type)
    allowed = [one.spelled for one in d_tensor_types(dtype)] if dtype else [result_type]
    others = [one for one in types if one not in allowed]
    if others:
        return dropped_by(
            DropRule.D_TENSOR_TYPE,
            f"a D tensor of {others[0]}, the result is {result_type}: expected {' or '.join(allowed)}",
        )
    try:
        operation = ElementwiseOp.parse(said)
        if operation.properties.operands:
            raise InputError(f"{said} is an operation on operands, {stored} one on the result")
        known = filter(None, (fields[f"layout_{result}"], CHANNEL_LAYOUTS.get(result)))
        check_d_layouts(operation, layouts, tuple(known))
    except InputError as error:
        return dropped_by(DropRule.ELEMENTWISE, error.message)
    return operation, layouts, types


#: tensors of which operands are made by the operations on them
_TENSORS: Final = 2


def _of_operands(said: Mapping[str, str], *, tensors: int, is_alone: bool) -> LineEpilogue | UnmetRequirement:
    """Return what kernels make operands of.

    :param said: names of the fields with operations on operands -> operation.
    :param tensors: of which each operand is made.
    :param is_alone: the line says nothing else that its kernel does beside a forward convolution.
    """
    known = {one.value: one for one in ElementwiseOp if one.properties.operands}
    name = next(iter(said.values()))
    if is_alone and tensors == _TENSORS and name in known and set(said.values()) == {name}:
        return known[name], (), ()
    words = ", ".join(f"{field} is {operation}" for field, operation in said.items())
    count = "one tensor" if tensors == 1 else f"{tensors} tensors"
    return dropped_by(
        DropRule.OPERAND_OPERATION,
        f"{words}, of {count} each: kernels multiply operands as they are, or make both of {_TENSORS} "
        f"tensors by {' or '.join(known)} in forward and do nothing else",
    )


def elementwise(stored: str, result_type: str, *, result: str, operand_tensors: int = 1) -> Step:
    """Return the step that keeps the operation of a line, or drops one that no kernel can be made for.

    :param stored: name of the field with the operation on the result.
    :param result_type: the same of its type.
    :param result: which tensor of the convolution is computed.
    :param operand_tensors: of which each operand is made.
    """

    def step(values: dict[str, Any], properties: ListReading) -> UnmetRequirement | None:
        """Translate the operation, and layouts and types of the D tensors."""
        spelled = values[result_type]
        read = read_epilogue(
            values,
            stored,
            spelled,
            result=result,
            operand_tensors=operand_tensors,
            stated=values["elementwise_op"],
        )
        if isinstance(read, UnmetRequirement):
            return read
        operation, layouts, types = read
        if operation is not None:
            values["elementwise_op"] = operation.value
            values["d_layouts"] = ",".join(layouts) or None
            values["d_dtypes"] = _other_types(types, spelled)
        return None

    return step


def _other_types(types: Sequence[str], result: str) -> str | None:
    """Return what records say of the types of D tensors; nothing where all have that of the result."""
    if all(one == result for one in types):
        return None
    return ",".join(one.value for one in filter(None, map(DataType.of_string, types)))
