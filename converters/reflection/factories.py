"""The factory of a list, as C++ names it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ckprof_converters.library_lists import known_lists
from ckprof_converters.lines import annotation_of, stated_operation
from ckprof_plugins.elementwise.operations import COMBINED_OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ckprof_converters.library_lists import ListKey


_COMBINED: Final = re.compile(rf"\b(?:{'|'.join(COMBINED_OPERATIONS)})\b")


def factory_source(key: ListKey) -> str:
    """Return a program that has the library's own factory call its functions, which print their instances."""
    cpp_types, shape, direction = known_lists().cpp_types, key.shape, key.home
    input_type, weight_type, output_type = (cpp_types[name] for name in key.types)
    d_type = cpp_types[direction.d_types.get(key.fused, {}).get(key.types[2], key.types[2])]
    first, second, output = direction.elementwise[key.fused]
    operation = direction.fused_operation if key.fused and direction.fused_operation else direction.operation
    operation = operation.format(
        ndim=shape.ndim,
        input=shape.input,
        weight=shape.weight,
        output=shape.output,
        input_type=_operand(input_type, key),
        weight_type=_operand(weight_type, key),
        output_type=output_type,
        d_layouts=_tuple(key.d_layouts),
        d_types=_tuple([d_type] * len(key.d_layouts)),
        elementwise=", ".join((first, second, _combination(key) or output)),
        compute_types=f"{input_type}, {weight_type}",
    )
    return f"""\
#include "ck/library/tensor_operation_instance/gpu/{key.factory}"

int main()
{{
    using namespace ck::tensor_operation::device;
    using namespace ck::tensor_operation::device::instance;
    using namespace ck::tensor_operation::element_wise;
    DeviceOperationInstanceFactory<{operation}>::GetInstances();
}}
"""


def annotation(key: ListKey) -> str:
    """Return what follows the instances of a list: what their operation does, where its name does not say."""
    operation = key.home.elementwise[key.fused][2]
    return annotation_of({"elementwise_op": operation} if _combination(key) else {})


def is_of(line: str, key: ListKey) -> bool:
    """Say whether an instance has the types of a list, and does what the list's instances do.

    :raises LineError: the annotation of the line is wrong.
    """
    direction = key.home
    stated = stated_operation(line)
    text = "".join(line.split())
    if stated is not None:
        text = _COMBINED.sub(stated, text)
    before, found, _ = text.partition(f",{','.join(direction.elementwise[key.fused])},")
    types = [word for word in re.findall(r"\w+", before) if word in known_lists().cpp_types]
    return bool(found) and len(types) > 2 and tuple(types[place] for place in direction.types_at) == key.types


def _combination(key: ListKey) -> str:
    """Return the library's name of an operation that is made of others; empty if it is not."""
    return key.home.combined.get(key.fused, {}).get(key.types[2], "")


def _operand(name: str, key: ListKey) -> str:
    return name if key.operand_tensors == 1 else _tuple([name] * key.operand_tensors)


def _tuple(names: Sequence[str]) -> str:
    return f"ck::Tuple<{', '.join(names)}>"


def template_source(function: str, template: Path) -> str:
    """Return a source with the function that a template of the library stands for.

    The library's build divides the instances between as many shards as CMake is told; here one shard has all
    of them, in the order of their tuple.
    """
    instances = function.removeprefix("add_")
    return f"""\
#include "{template}"

namespace ck::tensor_operation::device::instance {{
void {function}({instances}& instances)
{{
    {function}_shard<1, 0>(instances);
}}
}}
"""


def prelude_of(key: ListKey) -> str:
    """Return the name of the header that the sources of a list begin with."""
    apart = key.fused and key.home.fused_operation
    return f"{key.direction}-fused" if apart else key.direction


def prelude_source(name: str, traits: tuple[str, ...]) -> str:
    """Return the header of a name: declarations, and those classes that agree with all that follows it."""
    direction = known_lists().directions.get(name)
    folder = "ck/tensor_operation/gpu/device/impl"
    headers = (
        *traits,
        *(f"{folder}/{header}" for header in (direction.precompiled if direction else ())),
        "ck/library/tensor_operation_instance/add_device_operation_instance.hpp",
        "ck/library/tensor_operation_instance/device_operation_instance_factory.hpp",
    )
    return "".join(f'#include "{header}"\n' for header in headers)
