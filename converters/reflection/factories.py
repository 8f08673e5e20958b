"""The factory of a list, as C++ names it."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from ckprof_converters.extract.lists import ListKey


class DirectionFactory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the instances of a direction are had."""

    #: the base class of its device operations, with places for dimensions, layouts and type
    operation: str
    #: headers of device classes that agree with one another: compiled once for all sources of the direction
    precompiled: tuple[str, ...]


class FactoriesFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All factories."""

    types: dict[str, str]
    directions: dict[str, DirectionFactory]


@cache
def known_factories() -> FactoriesFile:
    """Return what is known of the factories."""
    return msgspec.json.decode((files(__package__) / "factories.json").read_bytes(), type=FactoriesFile)


def factory_source(key: ListKey) -> str:
    """Return a program that has the library's own factory call its functions, which print their instances."""
    factories, shape = known_factories(), key.shape
    operation = factories.directions[key.direction].operation.format(
        ndim=shape.dimensions,
        input=shape.input,
        weight=shape.weight,
        output=shape.output,
        type=factories.types[key.dtype],
    )
    return f"""\
#include "ck/library/tensor_operation_instance/gpu/{key.home.factory}"

int main()
{{
    using namespace ck::tensor_operation::device;
    using namespace ck::tensor_operation::device::instance;
    DeviceOperationInstanceFactory<{operation}>::GetInstances();
}}
"""


def prelude_source(direction: str, traits: tuple[str, ...]) -> str:
    """Return the header that all sources of a direction begin with."""
    folder = "ck/tensor_operation/gpu/device/impl"
    headers = (
        *traits,
        *(f"{folder}/{name}" for name in known_factories().directions[direction].precompiled),
        "ck/library/tensor_operation_instance/add_device_operation_instance.hpp",
        "ck/library/tensor_operation_instance/device_operation_instance_factory.hpp",
    )
    return "".join(f'#include "{header}"\n' for header in headers)
