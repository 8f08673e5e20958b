from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from ckprof.errors import InputError, UsageError
from ckprof_plugins.judge.candidate import OpenRequest, open_candidate, split_name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.py", ("a.py", "")),
        ("a.py:fast", ("a.py", "fast")),
        ("lib/a.so:fast", ("lib/a.so", "fast")),
        ("a.py:", ("a.py", "")),
    ],
)
def test_file_and_function(text, expected):
    assert split_name(text) == (Path(expected[0]), expected[1])


def test_a_file_may_have_a_colon(tmp_path):
    (tmp_path / "a:b").write_text("")
    assert split_name(str(tmp_path / "a:b")) == (tmp_path / "a:b", "")
    with pytest.raises(UsageError, match="expected FILE or FILE:FUNCTION, got ':f'"):
        split_name(":f")


def _opened(path, folder):
    return open_candidate(OpenRequest(path=path, function="", folder=folder))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("none.py", None, "no such file, expected a candidate"),
        ("a.txt", "", r"a.txt: expected the file of a candidate, whose name ends in .c, .cc"),
        ("a.py", "def f(:\n", r"a.py:1:7: not Python: "),
        ("a.py", "a = '\0'\n", "not Python: "),
    ],
)
def test_what_cannot_be_opened(tmp_path, name, text, message):
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        _opened(tmp_path / name, tmp_path)
    with pytest.raises(InputError, match="this is a folder"):
        _opened(tmp_path, tmp_path)


def test_digests_notice_a_change(tmp_path):
    path = tmp_path / "a.py"
    path.write_text("def candidate(): pass\n")
    candidate = _opened(path, tmp_path)
    assert candidate.digests == {str(path): sha256(path.read_bytes()).hexdigest()}
    candidate.check_unchanged()
    path.write_text("def candidate(): return 1\n")
    with pytest.raises(InputError, match="has changed while it was judged"):
        candidate.check_unchanged()


@pytest.mark.compiler
def test_sources_are_compiled_or_say_where_they_do_not(tmp_path):
    path = tmp_path / "a.cpp"
    path.write_text('#include "ckprof_candidate.h"\nint wrong() { return missing; }\n')
    with pytest.raises(InputError, match=r"a.cpp:2:22: does not compile: .*missing"):
        _opened(path, tmp_path)
    path.write_text(
        '#include "ckprof_candidate.h"\nckprof_status ckprof_candidate(const ckprof_problem*, '
        "const ckprof_buffers*, char*, size_t) { return CKPROF_OK; }\n"
    )
    candidate = _opened(path, tmp_path)
    assert candidate.kind == "source" and candidate.loaded.is_file() and "-O3" in candidate.built_by
    assert {*candidate.digests} == {str(path), str(candidate.loaded)}
