"""What parent and worker say to each other: one JSON object per line.

Requests go to the worker's standard input. Each is answered by one reply, except that :class:`Measure` may be
answered by any number of :class:`Progress` lines first, and :class:`ReadInstanceStrings` by one
:class:`InstanceText` per key.
"""

from __future__ import annotations

import msgspec

from ckprof.model.dtype import DataType
from ckprof.model.outcome import Measurement, Status, Verification
from ckprof.model.problem import ConvProblem
from ckprof.model.requirement import UnmetRequirement


class Message(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="type"):
    """Base of all messages; the class is told apart by its ``type``."""


class TimingSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The part of the run options that concerns sampling."""

    warmup: int
    min_samples: int
    min_time_s: float
    max_time_s: float
    timeout_s: float
    criterion: str
    criterion_parameters: dict[str, float]
    #: bytes to touch before every sample; 0 leaves the caches warm
    flush_bytes: int
    keep_samples: bool


class Open(Message, frozen=True, tag="open"):
    """Load the library. Must be the first request."""

    library: str
    #: architecture to select; empty to leave the device alone
    arch: str
    device: int
    cpu_threads: int


class TensorFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A tensor of the problem, packed in the memory order of its layout."""

    #: one of ``input``, ``weight``, ``output``
    name: str
    #: letters of the axes, slowest first
    axes: str
    shape: tuple[int, ...]
    #: ``.npy`` file: stored values of an operand, doubles of the reference; empty for an unverified result
    path: str


class LoadProblem(Message, frozen=True, tag="load_problem"):
    """Put the operands of a problem into target memory, in place of those of the problem before."""

    problem: ConvProblem
    dtype: DataType
    operands: tuple[TensorFile, ...]
    result: TensorFile
    #: products accumulated into one element of the result
    reduction_length: int
    #: largest magnitude in the reference; 0 without one
    magnitude: float


class Measure(Message, frozen=True, tag="measure"):
    """Test support, run, verify and time one kernel on the loaded problem."""

    key: str
    #: splits of the reduction; less than 1 lets the kernel choose
    split_k: int
    timing: TimingSettings


class ReadInstanceStrings(Message, frozen=True, tag="read_instance_strings"):
    """Ask kernels for CK Builder's text."""

    keys: tuple[str, ...]


class Quit(Message, frozen=True, tag="quit"):
    """End the process."""


class Opened(Message, frozen=True, tag="opened"):
    """The library is loaded."""

    target: str
    #: one line about the device; empty when none was selected
    device: str
    keys: tuple[str, ...]


class OpenFailed(Message, frozen=True, tag="open_failed"):
    """The library cannot be used."""

    reason: str


class ProblemLoaded(Message, frozen=True, tag="problem_loaded"):
    """The problem is in target memory."""


class ProblemRejected(Message, frozen=True, tag="problem_rejected"):
    """The problem does not fit into target memory."""

    reason: str


class Progress(Message, frozen=True, tag="progress"):
    """The measurement enters a stage; its time limit starts anew or is suspended."""

    #: ``support``, ``run``, ``verify`` or ``time``
    stage: str
    #: splits of the reduction, once the support test has said how many
    split_k: int | None = None


class Measured(Message, frozen=True, tag="measured"):
    """What became of one kernel."""

    status: Status
    reason: str = ""
    #: every condition that the problem does not meet, if that is why
    unmet_requirements: tuple[UnmetRequirement, ...] = ()
    #: splits of the reduction that were run; ``None`` if it did not come to that
    split_k: int | None = None
    measurement: Measurement | None = None
    verification: Verification | None = None
    #: wall seconds of the timing stage
    timing_s: float = 0.0
    #: seconds of these spent on flushing caches
    flush_s: float = 0.0
    #: the kernel wrote where it must not: the worker must not be used any more
    tainted: bool = False


class InstanceText(Message, frozen=True, tag="instance_text"):
    """One kernel's answer to :class:`ReadInstanceStrings`."""

    key: str
    text: str
    #: why there is no text; empty if there is
    error: str = ""


Request = Open | LoadProblem | Measure | ReadInstanceStrings | Quit
Reply = Opened | OpenFailed | ProblemLoaded | ProblemRejected | Progress | Measured | InstanceText

_encoder = msgspec.json.Encoder()
_request_decoder: msgspec.json.Decoder[Request] = msgspec.json.Decoder(Request)
_reply_decoder: msgspec.json.Decoder[Reply] = msgspec.json.Decoder(Reply)


def encode_line(message: Message) -> bytes:
    """Return the message as one line, with its end."""
    return _encoder.encode(message) + b"\n"


def decode_request(line: bytes) -> Request:
    """Return the request in a line.

    :raises msgspec.DecodeError: it is none.
    """
    return _request_decoder.decode(line)


def decode_reply(line: bytes) -> Reply:
    """Return the reply in a line.

    :raises msgspec.DecodeError: it is none.
    """
    return _reply_decoder.decode(line)
