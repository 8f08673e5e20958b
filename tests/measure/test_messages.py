from __future__ import annotations

import msgspec
import pytest

from ckprof.measure.worker import messages
from ckprof.measure.worker.messages import AbiStatus
from ckprof.measure.worker.sampling import Sampled, Sampling


def test_a_reply_survives_the_way():
    sampling = Sampling(samples_ms=(1.25, 2.25), stopped_by="stdrel", warmup=1, wall_s=0.5, flush_s=0.0)
    reply = Sampled(key="k", sampling=sampling)
    line = messages.encode_line("abc", reply)
    assert line.count(b"\n") == 1 and line.endswith(b"\n") and line.startswith(b"abc ")
    assert messages.decode_reply(line, "abc") == reply


def test_requests_and_replies_are_told_apart():
    line = messages.encode_line("1", messages.Quit())
    assert messages.decode_request(line) == ("1", messages.Quit())
    with pytest.raises(msgspec.ValidationError):
        messages.decode_reply(line, "1")


@pytest.mark.parametrize("nonce", ["", "a", "ab", "abcd", "ABC"])
def test_a_reply_to_something_else_is_none(nonce):
    line = messages.encode_line(nonce, messages.Ran(key="k", status=AbiStatus.OK))
    with pytest.raises(msgspec.DecodeError, match="does not answer the request"):
        messages.decode_reply(line, "abc")


@pytest.mark.parametrize(
    "body", [b"", b"hello", b"[]", b'{"type":"ran"}', b'{"type":"copied_out","size":1,"more":1}']
)
def test_anything_else_is_rejected(body):
    with pytest.raises(msgspec.DecodeError):
        messages.decode_reply(b"abc " + body, "abc")
