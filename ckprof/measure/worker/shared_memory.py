"""Memory that a worker and its parent share, through which tensors leave the worker."""

from __future__ import annotations

import fcntl
import mmap
import os

import numpy as np

from ckprof.measure.worker.guards import CHUNK_BYTES


class SharedMemory:
    """:data:`~ckprof.measure.worker.guards.CHUNK_BYTES` bytes without a name in any folder.

    :param descriptor: of the memory; it may be closed afterwards.
    """

    def __init__(self, descriptor: int) -> None:
        self.bytes = np.frombuffer(mmap.mmap(descriptor, CHUNK_BYTES), dtype=np.uint8)

    @staticmethod
    def create() -> int:
        """Return a descriptor of new memory.

        Its size is sealed: if one process could shrink it, the other one would die when it reads.

        :raises OSError: the system has none, or does not allow so much.
        """
        descriptor = os.memfd_create("ckprof-tensors", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(descriptor, CHUNK_BYTES)
        except OSError:
            os.close(descriptor)
            raise
        fcntl.fcntl(
            descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
        )
        return descriptor
