"""How many launches one sample holds.

A kernel that starts on an idle device is waited for by the device's clock: the first event is reached at
once, the kernel only when the host has launched it. For a kernel of a few microseconds that is a large part
of what is measured. Launches in a row between two events share it.

Cold samples hold one launch each. They need no more: the flush before them, which nobody waits for, keeps the
device busy while the host launches; and all but the first launch of a batch would find warm caches.
"""

from __future__ import annotations

import math
from typing import Final

#: milliseconds below which a kernel is launched several times per sample
SHORT_MS: Final = 0.02
#: single launches on an idle device that seem shorter than this many milliseconds may be of short kernels; so
#: many in a row tell
DOUBTFUL_MS: Final = 0.06
PROBE_LAUNCHES: Final = 4
#: milliseconds that the launches of a sample should take together
BATCH_MS: Final = 0.2
#: launches of a sample at most: a queue that is full makes the host wait
MOST_LAUNCHES: Final = 64


def launches_per_sample(duration_ms: float, *, flushed: bool) -> int:
    """Return how many launches in a row a sample holds, on a device with a clock of its own.

    :param duration_ms: shortest run of the kernel so far.
    :param flushed: caches are evicted before each sample.
    """
    if flushed or not 0 < duration_ms < SHORT_MS:
        return 1
    return min(MOST_LAUNCHES, math.ceil(BATCH_MS / duration_ms))
