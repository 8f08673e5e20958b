"""What a parent has its worker do, by calls of methods: one request per line, and one answer to each.

A line is a nonce, a space and a JSON object. The parent chooses a new nonce for every call, and the answer
must repeat it: whatever else arrives was not sent by the worker's own code. Tensors are not part of the
lines; :meth:`WorkerMethods.copy_out` puts them into memory that both processes share.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, IntEnum
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar, get_type_hints

import msgspec

from ckprof.measure.worker.sampling import AuditRequest, Findings, Sampling, SignedAxis, TimingSettings
from ckprof.model.computation import Computation, Rounding, Tolerance
from ckprof.model.device import DeviceIdentity
from ckprof.model.requirement import UnmetRequirement
from ckprof.model.types import DataType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.model.problem import Problem

_Result = TypeVar("_Result")


class AbiStatus(IntEnum):
    """``ckprof_status``: how a call of a kernel ended."""

    OK = 0
    REJECTED = 1
    FAILED = 2


class DeviceChoice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where kernels run."""

    #: architecture to select; empty for the one that the library was built for
    arch: str = ""
    index: int = 0
    #: CPU threads that kernels may use; 0 leaves it to the target
    cpu_threads: int = 0


class BaselineSource(msgspec.Struct, frozen=True, kw_only=True):
    """What makes the engine of a baseline, which is measured as if it were a library."""

    #: of the baseline
    id: str
    #: ``module:function``, or ``path/of/a/file.py:function``
    entry: str
    #: compute where the host does; otherwise on the device
    on_host: bool
    #: kernel library whose target verifies results on the device; empty for none
    checks: str = ""


class TensorFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A tensor of the problem, in the memory order of its layout."""

    name: str
    #: lengths of its axes in memory, with what gaps between its lines take
    shape: tuple[int, ...]
    dtype: DataType
    #: place in which kernels take it
    position: int
    #: ``.npy`` file with the stored values of an operand; empty for the result, and for what the device fills
    path: str = ""
    #: ``ckprof_operand``, how the device fills an operand; ``None`` where a file has the values
    fill: bytes | None = None


class ProblemValues(msgspec.Struct, frozen=True):
    """The sizes of a problem as kernel libraries take them: the worker need not know the operation."""

    ndim: int
    values: tuple[int, ...]

    @classmethod
    def of(cls, problem: Problem) -> ProblemValues:
        """Return the sizes of a problem."""
        return cls(ndim=problem.ndim, values=problem.values())


@dataclass(frozen=True, slots=True)
class SupportQuery:
    """A problem with a number of splits of its reduction; less than 1 lets the kernel choose."""

    problem: Problem
    split_k: int


class Support(msgspec.Struct, frozen=True, kw_only=True):
    """A kernel's verdict on a problem."""

    status: AbiStatus
    #: what is not met, the condition that decides first; what went wrong if the test failed
    unmet_requirements: tuple[UnmetRequirement, ...] = ()
    #: splits of the reduction that will be run: those asked for, or what the kernel has chosen
    split_k: int
    workspace_bytes: int = 0
    #: how often a sum is rounded to the type of the result until it is an element of it, where that is more
    #: often than the operation says
    roundings: int = 0

    @property
    def supported(self) -> bool:
        """Whether the kernel can compute it."""
        return self.status is AbiStatus.OK

    @property
    def reason(self) -> str:
        """Why not; empty if the kernel gave no reason."""
        return self.unmet_requirements[0].message if self.unmet_requirements else ""


class LoadProblem(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A problem as it is put into target memory."""

    problem: ProblemValues
    operands: tuple[TensorFile, ...]
    result: TensorFile
    #: the whole, for baselines: kernels were compiled for it
    computation: Computation
    #: ``ckprof_contraction``, the reference that the device computes; ``None`` where results are verified
    #: elsewhere
    contraction: bytes | None = None
    #: where operands may be negated, and the result with them; empty where that is not known
    signs: tuple[SignedAxis, ...] = ()


class Opened(msgspec.Struct, frozen=True, kw_only=True):
    """The library is loaded."""

    target: str
    #: one line about the device; empty when none was selected
    device: str
    keys: tuple[str, ...]
    #: what really computes; ``None`` where the target does not say, or no device was selected
    identity: DeviceIdentity | None = None
    #: whether results can be verified on the device
    can_check: bool = False


class LibraryInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What a library says about itself and its kernels: ``ckprof_library_info.h``."""

    #: id of the operation
    direction: str
    #: architecture that the kernels were built for
    arch: str
    #: version of the C functions for programs; empty if they have none
    version: str
    #: content key -> a JSON object with everything that makes the kernel, in the library's order
    kernels: dict[str, str]


class ReferenceFacts(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """What is known of operands and reference that a device has made.

    JSON has it as an array, which no unmet requirement is.
    """

    #: largest magnitude in the reference; ``None`` if it is not finite
    magnitude: float | None
    #: elements of the reference that are no numbers: those in gaps, if it is right
    gaps: int
    #: sum of the squares of each operand's values
    squares: tuple[float, ...]
    #: of each operand and of the reference
    digests: tuple[int, ...]


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """What the device holds."""

    #: bytes of the guards before and after each tensor that have changed, the reference as the last one
    guards: tuple[tuple[int, int], ...]
    #: of each operand and of the reference
    digests: tuple[int, ...]
    #: the same of the result, as text
    result: str
    #: of each comparison, up to the first one with which nothing is wrong
    findings: tuple[Findings, ...]


class WorkerMethods(Protocol):
    """What a worker does for its parent: load, ask, run, sample, copy out. It judges nothing.

    Arguments and results travel by the types that stand here.
    """

    def open(self, library: str, device: DeviceChoice | None) -> Opened:
        """Load the library, and select a device unless it is ``None``. Must be the first call."""

    def open_baseline(self, source: BaselineSource, device: DeviceChoice) -> Opened:
        """Make the engine of a baseline instead of loading a library. Must be the first call."""

    def describe(self) -> LibraryInfo | None:
        """Return what the library says about itself; ``None`` if it says nothing."""

    def load(self, problem: LoadProblem) -> ReferenceFacts | UnmetRequirement | None:
        """Put the operands of a problem into target memory, in place of those of the problem before.

        :returns: what is known of the device's reference, if it makes one; what memory is lacking, if it is.
        """

    def set_operands(self, operands: tuple[TensorFile, ...]) -> ReferenceFacts | UnmetRequirement | None:
        """Give the operands of the loaded problem other values, and compare with their reference from now on.

        Without memory for that they have some values, and no reference.

        :param operands: of the same sizes.
        """

    def support(self, key: str, queries: tuple[tuple[ProblemValues, int], ...]) -> tuple[Support, ...]:
        """Return a kernel's verdicts on problems, each with a number of splits."""

    def run(self, key: str, split_k: int, workspace_bytes: int) -> tuple[AbiStatus, str, float]:
        """Poison the result and run one kernel on the loaded problem.

        :param workspace_bytes: of the workspace that the kernel has said to need.
        :returns: how that ended, why if it did not end well, and milliseconds as the launcher measured them.
        """

    def sample(
        self,
        key: str,
        split_k: int,
        timing: TimingSettings,
        first_ms: float,
        first_s: float,
        audit: AuditRequest | None,
    ) -> Sampling | str:
        """Poison the result and time one kernel, which has run once, on the loaded problem.

        :param first_ms: duration of the first run as the launcher reported it.
        :param first_s: the same on the clock of the parent.
        :param audit: how launches are looked at; ``None`` where results are not verified.
        :returns: the samples; why a launch failed, if one did.
        """

    def sample_again(
        self, key: str, split_k: int, workspace_bytes: int, timing: TimingSettings, audit: AuditRequest | None
    ) -> Sampling | str | None:
        """Run and time one kernel that has run on the loaded problem before, as :meth:`sample`.

        :returns: ``None`` if it does not take the problem any more, or its workspace does not fit.
        """

    def copy_out(self, tensor: str, start: int, size: int, kept: int) -> None:
        """Copy bytes of a tensor of the loaded problem to the beginning of the shared memory.

        :param start: from the tensor's first element; negative in the guard before it.
        :param kept: number of a result that the last sampling has kept; -1 for the tensor itself.
        """

    def check(self, tolerance: Tolerance, roundings: tuple[Rounding, ...]) -> Checked:
        """Compare the result with the device's reference, and look at all guards.

        :param roundings: of the reference, until nothing is wrong with one of them.

        An element passes as in :func:`ckprof.measure.verify.comparison.compare`.
        """

    def instance_string(self, key: str) -> tuple[AbiStatus, str]:
        """Return CK Builder's text of a kernel; why there is none if the status is not OK."""

    def measure_peak(self, dtype: DataType | None, size_bytes: int, seconds: float) -> float:
        """Return what the device reaches at most, per second; 0 where its target does not measure it.

        :param dtype: type whose multiply-adds are meant; ``None`` for the bytes of a copy.
        :param size_bytes: of source and of destination of a copy, less where memory is short.
        """

    def measure_canaries(self, path: str) -> dict[str, float]:
        """Return the times of the target's canaries in milliseconds, by name.

        :param path: of their object.
        """


class Fault(Enum):
    """Why a call has no result."""

    #: it makes no sense, or the target could not serve it
    CALL = "call"
    #: of the device or its runtime
    DEVICE = "device"
    #: the library or the baseline cannot be loaded
    LIBRARY = "library"


class Call(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request: a method of :class:`WorkerMethods`, and its arguments in their order."""

    method: str
    arguments: msgspec.Raw


class Answer(msgspec.Struct, Generic[_Result], frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a method has returned, or why it has not."""

    result: _Result | msgspec.UnsetType = msgspec.UNSET
    fault: Fault | None = None
    reason: str = ""


@cache
def _decoders(method: str) -> tuple[msgspec.json.Decoder[Any], msgspec.json.Decoder[Any]]:
    """Return what reads the arguments and the answer of a method."""
    hints = get_type_hints(getattr(WorkerMethods, method))
    result: Any = hints.pop("return")
    arguments: Any = tuple[tuple(hints.values())]  # type: ignore[misc]
    return msgspec.json.Decoder(arguments), msgspec.json.Decoder(Answer[result])


#: also of answers, without their nonces
encode: Final = msgspec.json.Encoder().encode
_call_decoder: Final = msgspec.json.Decoder(Call)


def encode_call(method: str, args: Sequence[object], keywords: Mapping[str, object]) -> bytes:
    """Return a request without its nonce."""
    if keywords:
        signature = inspect.signature(getattr(WorkerMethods, method))
        args = signature.bind(None, *args, **keywords).args[1:]
    return encode(Call(method, msgspec.Raw(encode(args))))


def decode_answer(method: str, body: bytes) -> Answer[Any]:
    """Return what a line without its nonce says.

    :raises msgspec.DecodeError: it is no answer of the method.
    """
    answer: Answer[Any] = _decoders(method)[1].decode(body)
    if answer.fault is None and answer.result is msgspec.UNSET:
        raise msgspec.DecodeError("it has no result")
    return answer


def decode_call(body: bytes) -> tuple[str, tuple[Any, ...]]:
    """Return method and arguments of a request without its nonce.

    :raises msgspec.DecodeError: it holds none.
    """
    call = _call_decoder.decode(body)
    return call.method, _decoders(call.method)[0].decode(call.arguments)
