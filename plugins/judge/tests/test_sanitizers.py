from __future__ import annotations

import pytest

from ckprof_plugins.judge.candidate import OpenRequest, open_candidate
from ckprof_plugins.judge.sanitizers import sanitized

SOURCE = """
#include "ckprof_candidate.h"
ckprof_status ckprof_candidate(const ckprof_problem*, const ckprof_buffers*, char*, size_t)
{ return CKPROF_OK; }
"""


@pytest.mark.compiler
@pytest.mark.thorough
def test_sources_are_built_for_each_sanitizer_that_sees_their_threads(tmp_path):
    path = tmp_path / "a.cpp"
    path.write_text(SOURCE)
    built = dict(sanitized(open_candidate(OpenRequest(path=path, function="", folder=tmp_path))))
    if "address" not in built:
        pytest.skip("this compiler has no AddressSanitizer")
    assert {*built} <= {"address", "thread"}
    assert "san" in built["address"].variables["LD_PRELOAD"]
    assert built["address"].loaded != built.get("thread", built["address"]).loaded or len(built) == 1
    path.write_text(SOURCE + "#include <vector>\nvoid f() {\n#pragma omp parallel\n{}\n}\n")
    opened = open_candidate(OpenRequest(path=path, function="", folder=tmp_path))
    assert "thread" not in dict(sanitized(opened))


def test_nothing_is_built_of_what_is_no_source(tmp_path):
    path = tmp_path / "a.py"
    path.write_text("def candidate(): pass\n")
    assert [*sanitized(open_candidate(OpenRequest(path=path, function="", folder=tmp_path)))] == []
