"""Values of a file, read piece by piece.

Mapped files would do as well, but what is read of them counts as the process's memory until somebody else
needs it, and a run's memory is what users look at.
"""

from __future__ import annotations

import math
import os
import tempfile
import weakref
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from numpy.typing import NDArray


class StoredFile:
    """The elements of an array in a file, in memory order.

    :param descriptor: of the file; closed by :meth:`close`, at the latest with the last reference to this.
    :param dtype: type of an element.
    :param size: number of elements.
    :param offset: position of the first one in the file.
    """

    def __init__(self, descriptor: int, dtype: np.dtype[Any], size: int, offset: int = 0) -> None:
        self._descriptor = descriptor
        self._finalizer = weakref.finalize(self, os.close, descriptor)
        self._dtype = dtype
        self._offset = offset
        self.size = size

    @classmethod
    def open(cls, path: Path) -> StoredFile:
        """Return the values of a ``.npy`` file in C order.

        :raises OSError: it cannot be read.
        """
        mapped = np.load(path, mmap_mode="r", allow_pickle=False)
        return cls(os.open(path, os.O_RDONLY), mapped.dtype, math.prod(mapped.shape), int(mapped.offset))

    @classmethod
    def unnamed(cls, folder: Path, dtype: np.dtype[Any], size: int) -> StoredFile:
        """Return room for values in a file that no other process can open: it has no name.

        :param folder: on whose disk.
        """
        with tempfile.TemporaryFile(dir=folder) as file:
            return cls(os.dup(file.fileno()), dtype, size)

    def close(self) -> None:
        """Give the file back; nothing can be read afterwards.

        To be called where a signal may end the work: Python drops exceptions from finalizers.
        """
        self._finalizer()

    def append(self, values: NDArray[Any]) -> None:
        """Write the next elements of an unnamed file."""
        rest = np.ascontiguousarray(values, dtype=self._dtype).reshape(-1).data.cast("B")
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]

    def reshape(self, _: int) -> StoredFile:
        """Return the flat view, which is this."""
        return self

    def __getitem__(self, part: slice) -> NDArray[Any]:
        """Read the elements from ``part.start`` to ``part.stop``, fewer at the end of the array."""
        start, stop, _ = part.indices(self.size)
        values = np.empty(max(0, stop - start), dtype=self._dtype)
        rest = values.data.cast("B") if values.size else memoryview(b"")
        at = self._offset + start * self._dtype.itemsize
        while rest:
            count = os.preadv(self._descriptor, [rest], at)
            if not count:
                raise OSError(f"the file of {self.size} elements ends too early")
            rest, at = rest[count:], at + count
        return values
