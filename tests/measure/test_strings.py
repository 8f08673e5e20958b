from __future__ import annotations

import pytest

from ckprof.errors import ToolchainError
from ckprof.measure.support import query_instance_strings

pytestmark = pytest.mark.compiler


def test_kernels_answer_for_themselves(library):
    keys = ["ok", "support_crashes", "unsupported", "missing", "slow", "ok"]
    strings = query_instance_strings(library, keys)
    assert strings.texts == {"ok": "FakeKernel<0>", "slow": "FakeKernel<3>"}
    assert set(strings.failures) == {"support_crashes", "unsupported", "missing"}
    assert "SIGABRT" in strings.failures["support_crashes"]
    assert strings.failures["unsupported"] == "no text for this one"


def test_nothing_asked(library):
    assert query_instance_strings(library, []).texts == {}


def test_missing_library(tmp_path):
    with pytest.raises(ToolchainError, match=r"no\.so"):
        query_instance_strings(tmp_path / "no.so", ["ok"])
