"""The process that has kernels launched on the emulated device to learn their times.

A line of JSON each: first what :class:`Setup` says, then one :class:`Question` after the other.
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path
from typing import Any

import msgspec

from ckprof.measure.worker.abi import CBuffers, CProblem, Library, LibraryError
from ckprof.orphans import take_standard_streams
from ckprof_plugins.targets.hip.rocm import RUNTIME_LIBRARY


class Setup(msgspec.Struct, kw_only=True):
    """What is asked about."""

    library: str
    #: the device, which libraries of earlier builds are linked with as well; empty for that of the library
    runtime: str = ""
    arch: str
    #: of the compute unit
    table: str
    compute_units: int
    #: instructions that one simulation executes
    most_steps: int
    #: what instructions and waves do is listed, too
    profile: bool = False


class Question(msgspec.Struct, kw_only=True):
    """How long does a kernel take for a problem?"""

    #: content key of the kernel's instance
    key: str
    #: of the problem
    ndim: int
    values: tuple[int, ...]
    #: splits of the reduction; -1 leaves them to the kernel
    split_k: int
    #: bytes of each tensor, in the operation's order
    tensor_bytes: tuple[int, ...]
    #: operations and bytes that the problem needs at least, and the name of the type that is multiplied
    flop: int = 0
    traffic_bytes: int = 0
    dtype: str = ""


class Answer(msgspec.Struct, kw_only=True):
    """What the device did."""

    #: why nothing was launched, or what ended the launch; empty if it came to its end
    reason: str = ""
    #: the kernel does not support the problem
    unsupported: bool = False
    launches: tuple[msgspec.Raw, ...] = ()


class _Device:
    def __init__(self, setup: Setup) -> None:
        if setup.runtime:
            # whatever the library names as its device, this one has the name already
            ctypes.CDLL(setup.runtime, mode=ctypes.RTLD_GLOBAL)
        self.library = Library.load(Path(setup.library))
        # it is loaded already, with the library that is linked with it
        self._runtime = ctypes.CDLL(RUNTIME_LIBRARY)
        self._runtime.ckprof_emulator_timing_take.restype = ctypes.c_size_t
        message = ctypes.create_string_buffer(4096)
        failed = self._runtime.ckprof_emulator_timing_begin(
            setup.table.encode(),
            ctypes.c_uint32(setup.compute_units),
            ctypes.c_uint64(setup.most_steps),
            ctypes.c_uint32(setup.profile),
            message,
            ctypes.c_size_t(len(message)),
        )
        if failed:
            raise LibraryError(message.value.decode(errors="replace"))
        self.library.target.select_device(setup.arch, 0)

    def answer(self, question: Question) -> Answer:
        target = self.library.target
        kernel = self.library.kernels[question.key]
        problem = CProblem.from_values(question.ndim, question.values, question.split_k)
        support = kernel.is_supported(problem)
        if support.unmet_requirements:
            return Answer(unsupported=True, reason=support.unmet_requirements[0].message)
        addresses: list[int] = []
        try:
            for size in question.tensor_bytes:
                addresses.append(target.allocate(size))
            _, reason, _ = kernel.run(problem, CBuffers.of(*addresses), 0)
            return Answer(reason=reason, launches=self._taken())
        except (MemoryError, OSError) as error:
            return Answer(reason=str(error))
        finally:
            for address in addresses:
                target.release(address)

    def _taken(self) -> tuple[msgspec.Raw, ...]:
        take: Any = self._runtime.ckprof_emulator_timing_take
        size = take(None, ctypes.c_size_t(0))
        buffer = ctypes.create_string_buffer(size)
        take(buffer, ctypes.c_size_t(size))
        return tuple(msgspec.Raw(line) for line in buffer.value.splitlines())


def main() -> int:
    """Answer until there are no more questions."""
    requests, replies = take_standard_streams()
    encoder = msgspec.json.Encoder()

    def send(answer: Answer) -> None:
        replies.write(encoder.encode(answer) + b"\n")
        replies.flush()

    try:
        device = _Device(msgspec.json.decode(requests.readline(), type=Setup))
    except (LibraryError, OSError) as error:
        send(Answer(reason=str(error) or "the library cannot be loaded"))
        return 1
    send(Answer())
    decoder = msgspec.json.Decoder(Question)
    for line in requests:
        send(device.answer(decoder.decode(line)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
