"""Element types of lines whose tensors need not all have one: what a record says of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ckprof.errors import InputError
from ckprof.model.types import SHARED_TYPES, DataType
from ckprof_converters.conf_family import StepError
from ckprof_plugins.directions._convolution.element_types import result_types, types_of, weight_types

if TYPE_CHECKING:
    from ckprof_converters.conf_family import LineProperties, Step


def element_types(result: str, *, agree: tuple[str, ...]) -> Step:
    """Return the step that keeps the types of the second operand and of the result.

    :param result: name of the field with the type of the result.
    :param agree: names of the fields that must have the type of ``type_a`` where all tensors share one.
    """

    def step(values: dict[str, Any], properties: LineProperties) -> None:
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
