"""Values of a ``.npy`` file, read piece by piece.

Mapped files would do as well, but what is read of them counts as the process's memory until somebody else
needs it, and a run's memory is what users look at.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from numpy.typing import NDArray


class StoredFile:
    """The elements of an array in a file, in memory order.

    :param path: a ``.npy`` file in C order.
    :raises OSError: it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        mapped = np.load(path, mmap_mode="r", allow_pickle=False)
        self._path = path
        self._dtype: np.dtype[Any] = mapped.dtype
        self._offset = int(mapped.offset)
        self.size = math.prod(mapped.shape)

    def reshape(self, _: int) -> StoredFile:
        """Return the flat view, which is this."""
        return self

    def __getitem__(self, part: slice) -> NDArray[Any]:
        """Read the elements from ``part.start`` to ``part.stop``, fewer at the end of the array."""
        start, stop, _ = part.indices(self.size)
        size = self._dtype.itemsize
        return np.fromfile(
            self._path, dtype=self._dtype, count=max(0, stop - start), offset=self._offset + start * size
        )
