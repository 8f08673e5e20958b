"""What parent and worker say to each other: one request per line, and one reply to each.

A line is a nonce, a space and a JSON object. The parent chooses a new nonce for every request, and the
reply must repeat it: whatever else arrives was not sent by the worker's own code. Tensors are not part of the
lines; :class:`CopyOut` puts them into memory that both processes share.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import msgspec

from ckprof.measure.worker.check_work import ContractionWork, OperandFill
from ckprof.measure.worker.sampling import Findings, Sample, Sampled, SignedAxis, WorkerMessage
from ckprof.model.computation import Computation, Rounding
from ckprof.model.device import DeviceIdentity
from ckprof.model.requirement import UnmetRequirement
from ckprof.model.types import ComputeType, DataType

if TYPE_CHECKING:
    from ckprof.model.problem import Problem


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
    #: how the device fills an operand; ``None`` where a file has the values
    fill: OperandFill | None = None


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


class SupportQuestion(msgspec.Struct, frozen=True):
    """A :class:`SupportQuery` on its way to the worker."""

    problem: ProblemValues
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


class Open(WorkerMessage, frozen=True, tag="open"):
    """Load the library. Must be the first request."""

    library: str
    #: ``None`` leaves the device alone
    device: DeviceChoice | None


class OpenBaseline(WorkerMessage, frozen=True, tag="open_baseline"):
    """Make the engine of a baseline instead of loading a library. Must be the first request."""

    #: of the baseline
    id: str
    #: what makes the engine: ``module:function``, or ``path/of/a/file.py:function``
    entry: str
    #: compute where the host does; otherwise on the device
    on_host: bool
    device: DeviceChoice = DeviceChoice()
    #: kernel library whose target verifies results on the device; empty for none
    checks: str = ""


class Describe(WorkerMessage, frozen=True, tag="describe"):
    """Ask what the library says about itself and its kernels."""


class LoadProblem(WorkerMessage, frozen=True, tag="load_problem"):
    """Put the operands of a problem into target memory, in place of those of the problem before."""

    problem: ProblemValues
    operands: tuple[TensorFile, ...]
    result: TensorFile
    #: id of the direction and name of the layout: kernels know theirs, baselines are told
    direction: str = ""
    layout: str = ""
    #: what operands are rounded to before they are multiplied: likewise
    compute_type: ComputeType | None = None
    #: the whole, where the operation has problems of its own: likewise
    computation: Computation | None = None
    #: the reference that the device computes; ``None`` where results are verified elsewhere
    contraction: ContractionWork | None = None
    #: where operands may be negated, and the result with them; empty where that is not known
    signs: tuple[SignedAxis, ...] = ()


class SetOperands(WorkerMessage, frozen=True, tag="set_operands"):
    """Give the operands of the loaded problem other values, and compare with their reference from now on."""

    #: of the same sizes
    operands: tuple[TensorFile, ...]


class QuerySupport(WorkerMessage, frozen=True, tag="query_support"):
    """Ask one kernel whether it supports problems."""

    key: str
    queries: tuple[SupportQuestion, ...]


class RunOnce(WorkerMessage, frozen=True, tag="run_once"):
    """Poison the result and run one kernel on the loaded problem."""

    key: str
    split_k: int
    #: of the workspace that the kernel has said to need
    workspace_bytes: int


class CopyOut(WorkerMessage, frozen=True, tag="copy_out"):
    """Copy bytes of a tensor of the loaded problem into the shared memory."""

    tensor: str
    #: from the tensor's first element; negative in the guard before it
    start: int
    size: int
    #: number of a result that the last sampling has kept, instead of the tensor; -1 for the tensor
    kept: int = -1


class Check(WorkerMessage, frozen=True, tag="check"):
    """Compare the result of the loaded problem with the device's reference, and look at all guards."""

    #: an element passes as in :func:`ckprof.measure.verify.comparison.compare`
    rtol: float
    atol: float
    rounding: Rounding = Rounding.NONE


class ReadInstanceString(WorkerMessage, frozen=True, tag="read_instance_string"):
    """Ask a kernel for CK Builder's text."""

    key: str


class MeasureRoof(WorkerMessage, frozen=True, tag="measure_roof"):
    """Ask what the device reaches at most."""

    #: type whose multiply-adds are meant; ``None`` for the bandwidth of a copy
    dtype: DataType | None
    #: of source and of destination of a copy, less where memory is short
    size_bytes: int
    seconds: float


class Release(WorkerMessage, frozen=True, tag="release"):
    """Give the memory of the loaded problem back: it is another process's turn."""


class Quit(WorkerMessage, frozen=True, tag="quit"):
    """End the process. The only request without a reply."""


class Released(WorkerMessage, frozen=True, tag="released"):
    """No problem is loaded any more."""


class Opened(WorkerMessage, frozen=True, tag="opened"):
    """The library is loaded."""

    target: str
    #: one line about the device; empty when none was selected
    device: str
    keys: tuple[str, ...]
    #: what really computes; ``None`` where the target does not say, or no device was selected
    identity: DeviceIdentity | None = None
    #: whether results can be verified on the device
    can_check: bool = False


class OpenFailed(WorkerMessage, frozen=True, tag="open_failed"):
    """The library cannot be used."""

    reason: str
    #: whether the library was loaded, and the device is at fault
    loaded: bool = False


class KernelEntry(msgspec.Struct, frozen=True, kw_only=True):
    """What a library says about one of its kernels."""

    key: str
    name: str
    #: everything that makes the kernel
    fields: dict[str, int | float | str | bool | None]


class Described(WorkerMessage, frozen=True, tag="described"):
    """What a library says about itself; empty where it does not say it."""

    direction: str = ""
    arch: str = ""
    kernels: tuple[KernelEntry, ...] = ()


class ReferenceFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of operands and reference that a device has made."""

    #: largest magnitude in the reference; ``None`` if it is not finite
    magnitude: float | None
    #: elements of the reference that are no numbers: those in gaps, if it is right
    gaps: int
    #: sum of the squares of each operand's values
    squares: tuple[float, ...]
    #: of each operand and of the reference
    digests: tuple[int, ...]


class ProblemLoaded(WorkerMessage, frozen=True, tag="problem_loaded"):
    """The problem is in target memory, or other operands of it are."""

    #: ``None`` where the device has made no reference
    reference: ReferenceFacts | None = None
    #: wall seconds that the worker took
    seconds: float = 0.0


class ProblemRejected(WorkerMessage, frozen=True, tag="problem_rejected"):
    """The problem does not fit into target memory."""

    reason: str
    #: which requirement that is: memory of the host's or the device's, or what others hold of it
    rule: str = "memory"


class SupportAnswers(WorkerMessage, frozen=True, tag="support_answers"):
    """One kernel's answers, in the order of the queries."""

    key: str
    answers: tuple[Support, ...]


class Ran(WorkerMessage, frozen=True, tag="ran"):
    """How one run ended, or a sampling of which a run failed."""

    key: str
    status: AbiStatus
    #: why, if the status is not OK
    reason: str = ""
    #: as the launcher measured it
    time_ms: float = 0.0


class CopiedOut(WorkerMessage, frozen=True, tag="copied_out"):
    """The bytes are in the shared memory, from its beginning."""

    size: int


class Checked(WorkerMessage, frozen=True, tag="checked"):
    """What the device holds."""

    #: bytes of the guards before and after each tensor that have changed, the reference as the last one
    guards: tuple[tuple[int, int], ...]
    #: of each operand and of the reference
    digests: tuple[int, ...]
    findings: Findings


class InstanceText(WorkerMessage, frozen=True, tag="instance_text"):
    """CK Builder's text of a kernel."""

    key: str
    text: str
    #: why there is no text; empty if there is
    error: str = ""


class RoofMeasured(WorkerMessage, frozen=True, tag="roof_measured"):
    """What the device reaches."""

    #: bytes read and written, or operations, per second; 0 where the target does not measure it
    rate: float


class Failed(WorkerMessage, frozen=True, tag="failed"):
    """The request makes no sense, or the target could not serve it."""

    reason: str
    #: an error of the device or its runtime
    device: bool = False


Request = (
    Open
    | OpenBaseline
    | Describe
    | LoadProblem
    | SetOperands
    | QuerySupport
    | RunOnce
    | Sample
    | CopyOut
    | Check
    | ReadInstanceString
    | MeasureRoof
    | Release
    | Quit
)  # fmt: skip
Reply = (
    Opened
    | OpenFailed
    | Described
    | ProblemLoaded
    | ProblemRejected
    | SupportAnswers
    | Ran
    | Sampled
    | CopiedOut
    | Checked
    | InstanceText
    | RoofMeasured
    | Released
    | Failed
)  # fmt: skip

_encoder = msgspec.json.Encoder()
_request_decoder: msgspec.json.Decoder[Request] = msgspec.json.Decoder(Request)
_reply_decoder: msgspec.json.Decoder[Reply] = msgspec.json.Decoder(Reply)


def encode_line(nonce: str, message: WorkerMessage) -> bytes:
    """Return the message as one line, with its end."""
    return b"%b %b\n" % (nonce.encode(), _encoder.encode(message))


def decode_request(line: bytes) -> tuple[str, Request]:
    """Return nonce and request of a line.

    :raises msgspec.DecodeError: it holds none.
    """
    nonce, _, body = line.partition(b" ")
    return nonce.decode(), _request_decoder.decode(body)


def decode_reply(line: bytes, nonce: str) -> Reply:
    """Return the reply in a line.

    :raises msgspec.DecodeError: it holds none, or not the one to the request with this nonce.
    """
    answered, _, body = line.partition(b" ")
    if answered != nonce.encode():
        raise msgspec.DecodeError("it does not answer the request")
    return _reply_decoder.decode(body)
