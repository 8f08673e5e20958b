"""The final names of kernels: decided once, before anything is written, and never changed afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ckprof.model.instance import Instance

#: Digits of the content key that are appended to a name that is already taken.
_KEY_DIGITS: Final = 8


class KernelNames:
    """Hands out names that differ, in the order in which they are asked for.

    Two kernels of one library that share a type name would be merged by the linker. File systems may not tell
    cases apart, so neither does this.

    :param taken: kernels that have a name already.
    """

    def __init__(self, taken: Iterable[tuple[str, Instance]] = ()) -> None:
        self._owners = {name.lower(): instance for name, instance in taken}

    def take(self, name: str, instance: Instance) -> str:
        """Return the name that a kernel's pipeline proposes, with digits of its key behind it if it is taken.

        Instances of the same content get the same name.
        """
        owner = self._owners.setdefault(name.lower(), instance)
        # most names are free: the key, which takes longer, is not needed then
        if owner is instance or owner.key == instance.key:
            return name
        name = f"{name}_{instance.key[:_KEY_DIGITS]}"
        self._owners[name.lower()] = instance
        return name
