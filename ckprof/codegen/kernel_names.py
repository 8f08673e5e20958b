"""The final names of kernels: decided once, before anything is written, and never changed afterwards."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Digits of the content key that are appended to a name that is already taken.
_KEY_DIGITS: Final = 8


class KernelNames:
    """Hands out names that differ, in the order in which they are asked for.

    Two kernels of one library that share a type name would be merged by the linker. File systems may not tell
    cases apart, so neither does this.

    :param taken: content key -> name, of kernels that have one already.
    """

    def __init__(self, taken: Mapping[str, str] = MappingProxyType({})) -> None:
        self._owners = {name.lower(): key for key, name in taken.items()}

    def take(self, name: str, key: str) -> str:
        """Return the name that a kernel's pipeline proposes, with digits of the key behind it if it is taken.

        :param key: content key of the instance; who asks again gets the same name.
        """
        if self._owners.setdefault(name.lower(), key) == key:
            return name
        name = f"{name}_{key[:_KEY_DIGITS]}"
        self._owners[name.lower()] = key
        return name
