"""Memory orders of the three matrices of a product."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

#: names of the matrices that every product has, in the order in which kernels take them; D tensors follow
TENSORS: Final = ("a", "b", "e")


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixLayout:
    """Row-major or column-major order of ``E[M,N] = A[M,K] * B[K,N]``.

    ``name`` has one letter per matrix, ``r`` or ``c``; the orders are letters of axes, the fastest last.
    """

    name: str
    a: str
    b: str
    e: str
    #: there are no spatial dimensions
    ndim: int = 0

    def order(self, tensor: str) -> str:
        """Return the letters of a matrix's axes, slowest first.

        :param tensor: one of :data:`TENSORS`, or ``d0``, ``d1``, which lie as E does.
        """
        return {"a": self.a, "b": self.b}.get(tensor, self.e)


def _layout(name: str) -> MatrixLayout:
    a, b, e = (
        axes if letter == "r" else axes[::-1] for letter, axes in zip(name, ("MK", "KN", "MN"), strict=True)
    )
    return MatrixLayout(name=name, a=a, b=b, e=e)


#: Every layout that kernels have: the result is row-major in all of them.
LAYOUTS: Final = tuple(map(_layout, ("rcr", "rrr", "ccr", "crr")))

_BY_NAME: Final = {layout.name: layout for layout in LAYOUTS}


def find_layout(name: str) -> MatrixLayout | None:
    """Return the layout called ``name`` (any case), or ``None``."""
    return _BY_NAME.get(name.lower())
