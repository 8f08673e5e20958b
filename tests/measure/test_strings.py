from __future__ import annotations

import pytest

from ckprof.errors import ToolchainError
from ckprof.measure.support import query_instance_strings

pytestmark = pytest.mark.compiler


def test_kernels_answer_for_themselves(library):
    keys = ["ok", "support_crashes", "unsupported", "missing", "slow", "ok"]
    texts, failures = query_instance_strings(library, keys)
    assert texts == {"ok": "FakeKernel<0>", "slow": "FakeKernel<3>"}
    assert set(failures) == {"support_crashes", "unsupported", "missing"}
    assert "SIGABRT" in failures["support_crashes"]
    assert failures["unsupported"] == "no text for this one"


def test_nothing_asked(library):
    assert query_instance_strings(library, []) == ({}, {})


def test_missing_library(tmp_path):
    with pytest.raises(ToolchainError, match=r"no\.so"):
        query_instance_strings(tmp_path / "no.so", ["ok"])
