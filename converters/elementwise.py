"""What lines of lists say of element-wise operations and D tensors, as records have it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from ckprof.errors import InputError
from ckprof.model.types import DataType
from ckprof_converters.annotations import MARK
from ckprof_converters.drop_rules import DropRule, dropped_by
from ckprof_plugins.directions._convolution.element_types import d_tensor_types
from ckprof_plugins.elementwise.operations import ElementwiseOp
from ckprof_plugins.elementwise.words import COMBINED_OPERATIONS, PLAIN_OPERATIONS
from ckprof_plugins.pipelines._gemm.d_layouts import check_d_layouts, d_layouts_of

if TYPE_CHECKING:
    from ckprof_converters.conf_family import LineProperties, Step
    from ckprof_converters.drop_rules import Drop

#: a tuple as strings spell it
_TUPLE: Final = re.compile(r"[Tt]uple\((.*)\)")


def elements_of(text: str) -> tuple[str, ...]:
    """Return the elements of a tuple as strings spell it; none of ``EmptyTuple``."""
    match = _TUPLE.fullmatch(text)
    return tuple(element.strip() for element in match[1].split(",")) if match and match[1].strip() else ()


def elementwise(stored: str, result_type: str, *operands: str, result: str) -> Step:
    """Return the step that keeps the operation on the result, or drops a line that no kernel can be made for.

    :param stored: name of the field with the operation on the result.
    :param result_type: the same of its type.
    :param operands: the same of the operations on the operands.
    :param result: which tensor of the convolution is computed.
    """

    def step(values: dict[str, Any], properties: LineProperties) -> Drop | None:
        """Translate the operation and the layouts of the D tensors."""
        for name in operands:
            if values[name] not in PLAIN_OPERATIONS:
                return dropped_by(
                    DropRule.OPERAND_OPERATION,
                    f"{name} is {values[name]}: CK Tile's kernels multiply operands as they are",
                )
        layouts, types = (elements_of(values.get(name, "")) for name in ("layout_extra", "type_extra"))
        said = values[stored]
        if said in COMBINED_OPERATIONS:
            if values["elementwise_op"] is None:
                return dropped_by(
                    DropRule.MISSING_INFORMATION,
                    f"{said} does not say what it combines; an annotation can, such as "
                    f'{MARK} elementwise_op="{ElementwiseOp.CONV_SCALE.value}"',
                )
            said = values["elementwise_op"]
        if said in PLAIN_OPERATIONS:
            if layouts or types:
                return dropped_by(
                    DropRule.ELEMENTWISE, f"it has D tensors, but {stored} is {said}, which does not use them"
                )
            return None
        spelled = values[result_type]
        dtype = DataType.of_string(spelled)
        allowed = [one.spelled for one in d_tensor_types(dtype)] if dtype else [spelled]
        others = [one for one in types if one not in allowed]
        if others:
            return dropped_by(
                DropRule.D_TENSOR_TYPE,
                f"a D tensor of {others[0]}, the result is {spelled}: expected {' or '.join(allowed)}",
            )
        if any(one != spelled for one in types):
            own = filter(None, map(DataType.of_string, types))
            values["d_dtypes"] = ",".join(one.value for one in own)
        try:
            operation = ElementwiseOp.parse(said)
            known = d_layouts_of(result, properties.layout)  # type: ignore[arg-type]
            check_d_layouts(operation, layouts, known)
        except InputError as error:
            return dropped_by(DropRule.ELEMENTWISE, error.message)
        values["elementwise_op"] = operation.value
        values["d_layouts"] = ",".join(layouts) or None
        return None

    return step
