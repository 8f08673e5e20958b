"""What device targets verify with, compiled as plain C++, and problems to try it on."""

import ctypes
import subprocess

import numpy as np

from ckprof.measure.options import ReferencePlace, RunOptions
from ckprof.measure.worker.guards import CHUNK_BYTES
from ckprof.measure.worker.messages import ReferenceFacts
from ckprof.measure.worker.remote import RemoteLibrary
from ckprof.measure.worker.session import KernelSession
from ckprof.model.types import DataType
from tests.convolutions import convolution

from .fakes import ABI_FOLDER, HERE, find_compiler
from .local_worker import HostLibrary, LocalLine

FLAGS = ("-std=c++20", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{ABI_FOLDER}")

ON_DEVICE = RunOptions(reference=ReferencePlace.DEVICE)
FLOATS = (DataType.FP32, DataType.FP16, DataType.BF16)
SCALE = convolution("2 1 2 3 5 3 3 6 5 1 1 1 1 1 1 1 1")


def build_checks(library):
    """Compile ``plain_checks.cpp``."""
    command = [find_compiler(), *FLAGS, str(HERE / "plain_checks.cpp"), "-o", str(library)]
    subprocess.run(command, check=True, timeout=300)


class CheckedWorker:
    """A worker in this process whose device is the host.

    :param kernel: has the methods of :class:`~ckprof.measure.worker.abi.Kernel`.
    """

    def __init__(self, checks, kernel=None):
        shared = np.empty(CHUNK_BYTES, dtype=np.uint8)
        library = HostLibrary(kernel, checks)
        self.session = KernelSession(shared)
        self.session._opened = library
        self.remote = RemoteLibrary(LocalLine(self.session, shared))

    def load(self, prepared):
        """Have operands and reference made."""
        made = self.remote.load(1.0, prepared.request)
        assert isinstance(made, ReferenceFacts)
        return prepared.loaded(made)

    def values(self, name, dtype):
        """Return a view of a tensor's memory."""
        return array_at(self.session._tensors[name], dtype)

    @property
    def reference(self):
        """A view of the reference's memory."""
        return array_at(self.session._references.current, np.dtype(np.float64))


def array_at(tensor, dtype):
    raw = (ctypes.c_uint8 * tensor.size_bytes).from_address(tensor.address)
    return np.frombuffer(raw, dtype=np.uint8).view(dtype)
