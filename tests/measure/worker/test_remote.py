"""What a worker answers, seen by its parent: results, faults, and what is no message."""

from types import SimpleNamespace

import pytest

from ckprof.measure.worker import messages
from ckprof.measure.worker.messages import Answer, Fault
from ckprof.measure.worker.process import UnexpectedReply
from ckprof.measure.worker.remote import CallFailed, RemoteLibrary


def answering(body):
    """Return a library whose worker answers that."""
    return RemoteLibrary(SimpleNamespace(ask=lambda request, limit_s: body, check_silence=None))


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
    with pytest.raises(UnexpectedReply, match="which is not a message"):
        answering(body).run(1.0, "key", 1, 0)
