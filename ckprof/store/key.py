"""What identifies a measurement: everything that can change its value, and nothing else.

Evidence about how a value came about (host name, clocks, revision, tags) is kept with each attempt, see
:mod:`ckprof.store.attempt`, and is never part of the key: it would split the history of one machine.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

import msgspec

from ckprof.model.problem import Problem

#: raised whenever the canonical text of a key changes; part of every digest
KEY_VERSION = 1
#: :attr:`MethodKey.clock` of times that a model predicted, which is what computes for the device then
PREDICTED: Final = "predicted"
#: :attr:`MeasurementKey.origin` of all others
MEASURED: Final = "measured times"


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationKey:
    """What is computed, and against which interface the kernels were generated."""

    #: id of the direction plugin
    direction: str
    #: API level of the headers; empty where an import does not say
    api_level: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelKey:
    """Which kernel, and which machine code of it."""

    #: content key of the instance, 32 hexadecimal digits
    instance: str
    #: digest of the object that ran; empty where none was built
    object_digest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceKey:
    """Where the kernel ran."""

    #: id of the target plugin
    target: str
    #: name of the device model
    model: str = ""
    arch: str = ""
    #: compute units; on the CPU: cores that the kernel may use
    compute_units: int = 0
    #: memory of the device; 0 for targets that share the host's memory
    memory_bytes: int = 0
    #: partition mode of the device; on the CPU: the instruction set
    partition: str = ""
    #: on the CPU: threads of the kernels, where these are more than the CPUs; 0 otherwise
    threads: int = 0
    #: what computes for a device that is emulated, with settings of it, or the model that predicts its times;
    #: empty for devices that there are
    host: str = ""

    @property
    def is_emulated(self) -> bool:
        """True where times are those of another machine than the device that they are filed under."""
        return bool(self.host)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolchainKey:
    """What made the machine code."""

    #: first line of the compiler's version text
    compiler: str = ""
    #: digest of the compiler's version, default target and executable
    compiler_identity: str = ""
    #: all that decide the code, also of the compiler's command and of the environment
    flags: tuple[str, ...] = ()
    #: digest of the headers that kernels are compiled against
    headers: str = ""
    #: major version of the device's driver; empty without a driver
    driver: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodKey:
    """How the time was taken."""

    #: ``event`` (the device's own clock), ``wall``, or :data:`PREDICTED`
    clock: str = "wall"
    #: raised whenever the meaning of a sample changes
    version: int = 1
    #: ``cold`` or ``warm``
    cache: str = "cold"
    #: bytes touched before every cold sample
    flush_bytes: int = 0
    #: how operands are initialised
    init: str = ""
    #: seed of operands that are drawn
    seed: int = 0


# Not slotted: the digest is computed once and kept.
@dataclass(frozen=True, kw_only=True)
class MeasurementKey:
    """Identity of a measurement. Two attempts with equal keys measured the same thing."""

    operation: OperationKey
    problem: Problem
    #: splits of the reduction as asked for; less than 1 leaves the number to the kernel
    split_k: int = 1
    kernel: KernelKey
    device: DeviceKey
    toolchain: ToolchainKey
    method: MethodKey

    @property
    def origin(self) -> str:
        """What its times are: measured, or predicted by a model. Those of two origins are not comparable."""
        return origin_of(self.device, self.method)

    @cached_property
    def digest(self) -> bytes:
        """Return 16 bytes over all parts; equal for equal keys on every machine."""
        parts = (self.operation, self.problem, self.kernel, self.device, self.toolchain, self.method)
        text = b"\0".join((b"%d" % KEY_VERSION, b"%d" % self.split_k, *map(canonical, parts)))
        return hashlib.blake2b(text, digest_size=16).digest()


def origin_of(device: DeviceKey, method: MethodKey) -> str:
    """Return :attr:`MeasurementKey.origin` of keys with these parts."""
    return f"times that {device.host} predicts" if method.clock == PREDICTED else MEASURED


KeyPart = OperationKey | Problem | KernelKey | DeviceKey | ToolchainKey | MethodKey


@lru_cache(maxsize=4096)
def canonical(part: KeyPart) -> bytes:
    """Return the canonical JSON of one part of a key: sorted names, no blanks."""
    return msgspec.json.encode(part, order="sorted")
