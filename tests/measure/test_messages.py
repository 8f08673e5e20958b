from __future__ import annotations

from types import SimpleNamespace

import pytest

from ckprof.measure.worker import messages
from ckprof.measure.worker.messages import AbiStatus, Answer, Fault, ReferenceFacts
from ckprof.measure.worker.process import UnexpectedReply, reply_in
from ckprof.measure.worker.remote import CallFailed, RemoteLibrary
from ckprof.measure.worker.sampling import Sampling
from ckprof.model.requirement import UnmetRequirement

SAMPLING = Sampling(samples_ms=(1.25, 2.25), stopped_by="stdrel", warmup=1, wall_s=0.5, flush_s=0.0)
FACTS = ReferenceFacts(magnitude=1.5, gaps=0, squares=(1.0, 2.0), digests=(1, 2, 2**64 - 1))


def answering(body):
    """Return a library whose worker answers that."""
    return RemoteLibrary(SimpleNamespace(ask=lambda request, limit_s: body, check_silence=None))


@pytest.mark.parametrize(
    ("method", "result"),
    [
        ("sample", SAMPLING),
        ("sample", "failed in a timed run"),
        ("load", None),
        ("load", FACTS),
        ("load", UnmetRequirement(rule="memory", message="none left")),
        ("run", (AbiStatus.REJECTED, "some-rule: no", 0.0)),
        ("release", None),
    ],
)
def test_a_result_survives_the_way(method, result):
    line = messages.encode(Answer(result))
    assert b"\n" not in line
    assert messages.decode_answer(method, line).result == result


def test_a_call_survives_the_way():
    call = messages.encode_call("run", ("key",), {"workspace_bytes": 5, "split_k": 2})
    assert b"\n" not in call
    assert messages.decode_call(call) == ("run", ("key", 2, 5))
    assert messages.encode_call("run", ("key", 2, 5), {}) == call
    with pytest.raises(TypeError):
        messages.encode_call("run", ("key",), {"split_k": 2})


@pytest.mark.parametrize("nonce", ["", "a", "ab", "abcd", "ABC"])
def test_a_reply_to_something_else_is_none(nonce):
    assert reply_in(b"abc {}", "abc") == b"{}"
    with pytest.raises(UnexpectedReply, match="does not answer the request"):
        reply_in(f"{nonce} {{}}".encode(), "abc")


@pytest.mark.parametrize("fault", Fault)
def test_a_fault_is_raised(fault):
    library = answering(messages.encode(Answer(fault=fault, reason="it is so")))
    with pytest.raises(CallFailed, match="it is so") as caught:
        library.run(1.0, "key", 1, 0)
    assert (caught.value.fault, caught.value.of_device) == (fault, fault is Fault.DEVICE)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"hello",
        b"[]",
        b"{}",
        b'{"result":null}',
        b'{"result":[0,""]}',
        b'{"result":[7,"",1.0]}',
        b'{"result":[0,"",1.0],"more":1}',
        b'{"method":"run","arguments":[]}',
    ],
)
def test_anything_else_is_rejected(body):
    with pytest.raises(UnexpectedReply, match="which is no message"):
        answering(body).run(1.0, "key", 1, 0)
