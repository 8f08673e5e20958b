"""What devices of a compute capability have."""

from __future__ import annotations

from typing import Final

#: times ten: that of engine W, which is compiled for where no device says otherwise
USUAL_CAPABILITY: Final = 90
_SHARED_BYTES: Final = {80: 167936, 86: 102400, 87: 167936, 89: 102400, 90: 233472}


def shared_bytes(capability: int) -> int:
    """Return the shared memory of a multiprocessor in bytes; the least of the known ones for others.

    :param capability: compute capability times ten.
    """
    return _SHARED_BYTES.get(capability, min(_SHARED_BYTES.values()))
