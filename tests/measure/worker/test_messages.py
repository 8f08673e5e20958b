import pytest

from ckprof.measure.worker import messages
from ckprof.measure.worker.messages import AbiStatus, Answer, ReferenceFacts
from ckprof.measure.worker.sampling import Sampling
from ckprof.model.requirement import UnmetRequirement

SAMPLING = Sampling(samples_ms=(1.25, 2.25), stopped_by="stdrel", warmup=1, wall_s=0.5, flush_s=0.0)
FACTS = ReferenceFacts(magnitude=1.5, gaps=0, squares=(1.0, 2.0), digests=(1, 2, 2**64 - 1))


@pytest.mark.parametrize(
    ("method", "result"),
    [
        ("sample", SAMPLING),
        ("sample", "failed in a timed run"),
        ("load", None),
        ("load", FACTS),
        ("load", UnmetRequirement(rule="memory", message="none left")),
        ("run", (AbiStatus.REJECTED, "some-rule: no", 0.0)),
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
