from __future__ import annotations

import msgspec
import pytest

from ckprof.model.outcome import Measurement, Status, Verification
from ckprof.run import messages


def test_measured_survives_the_way():
    reply = messages.Measured(
        status=Status.OK,
        measurement=Measurement(
            median_ms=1.5,
            spread_ms=0.1,
            min_ms=1.25,
            mean_ms=1.75,
            samples=2,
            stopped_by="stdrel",
            samples_ms=(1.25, 2.25),
        ),
        verification=Verification(max_error=1e-9, wrong_elements=0, elements=4, rtol=1e-7, atol=0.0),
        timing_s=0.5,
    )
    line = messages.encode_line(reply)
    assert line.count(b"\n") == 1 and line.endswith(b"\n")
    assert messages.decode_reply(line) == reply


def test_requests_and_replies_are_told_apart():
    line = messages.encode_line(messages.Quit())
    assert messages.decode_request(line) == messages.Quit()
    with pytest.raises(msgspec.ValidationError):
        messages.decode_reply(line)


@pytest.mark.parametrize(
    "line", [b"", b"hello", b"[]", b'{"type":"progress"}', b'{"type":"progress","stage":"run","more":1}']
)
def test_anything_else_is_rejected(line):
    with pytest.raises(msgspec.DecodeError):
        messages.decode_reply(line)
