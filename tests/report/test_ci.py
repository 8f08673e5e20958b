"""Annotations for GitHub Actions: what they escape, which file they name, how many there are."""

import re

import pytest

from ckprof.errors import Diagnostic, InputError, ListError, ToolchainError, UsageError
from ckprof.report.ci import (
    MOST_SHOWN,
    AnnotationLevel,
    failure_annotations,
    failure_junit,
    failure_markdown,
    remark,
    remark_at,
    render,
)
from tests.report.services import obeyed


def test_nothing_in_a_message_or_property_is_taken_for_syntax(tmp_path):
    odd = tmp_path / "a,b:c%.conf"
    odd.touch()
    message = "100 % of\r\nlines: a,b\n::error::planted\x1b[31m"
    _, line = remark(AnnotationLevel.ERROR, "x,y::z%\n", message, odd, 3, 4)
    assert "\n" not in line and "\r" not in line and "\x1b" not in line
    (read,) = obeyed(line)
    assert (read["file"], read["line"], read["col"]) == (str(odd), "3", "4")
    assert read["title"] == "x,y::z%\\n"
    assert read["message"].startswith("100 % of\nlines: a,b\n")


def test_a_file_is_named_from_the_root_of_its_repository(tmp_path, monkeypatch):
    (tmp_path / ".git").mkdir()
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.conf").touch()
    monkeypatch.chdir(tmp_path / "sub")
    _, written = remark_at("a.conf:7", AnnotationLevel.WARNING, "t", "m")
    assert written == "::warning file=sub/a.conf,line=7,title=t::m"
    _, gone = remark_at("library kernel 3", AnnotationLevel.NOTICE, "t", "m")
    assert gone == "::notice title=t::m"


def test_what_github_would_drop_is_counted():
    remarks = [remark(AnnotationLevel.ERROR, str(n), "m") for n in range(MOST_SHOWN + 5)]
    read = obeyed(render([*remarks, remark(AnnotationLevel.NOTICE, "n", "m")], "::verdict"))
    assert [one["title"] for one in read] == [*map(str, range(MOST_SHOWN - 1)), "6 more", "n"]
    assert len(obeyed(render(remarks[:MOST_SHOWN], ""))) == MOST_SHOWN


PLACES = [
    Diagnostic(path="a.conf", line=3, column=9, message="one"),
    Diagnostic(path="a.conf", message="two"),
]


@pytest.mark.parametrize(
    ("error", "first", "count"),
    [
        (ListError(PLACES), "a.conf:3:9: one", 2),
        (InputError("wrong", "b.conf", 4), "b.conf:4: wrong", 1),
        (ToolchainError("no compiler"), "no compiler", 1),
    ],
)
def test_an_error_is_one_case_and_a_remark_for_each_place(error, first, count):
    junit = failure_junit(error)
    assert re.findall(r'tests="(\d+)" failures="(\d+)" errors="(\d+)"', junit) == [("1", "0", "1")] * 2
    assert f'message="{first}"' in junit
    assert not re.search(r'name="[^"]*\d+:', junit), "names stay when lines move"
    remarks = obeyed(failure_annotations(error))
    assert len(remarks) == count and remarks[0]["message"] == first, "no such file has an annotation"
    title, _, shown = failure_markdown(error).partition("\n\n")
    assert title == f"**ckprof: no result, exit code {int(error.exit_code)}**" and first in shown


def test_markdown_of_an_error_shows_its_text_as_it_is():
    error = UsageError("no **kernel** of <b>`a_b`</b>\n```\n# [x](http://y)")
    shown = failure_markdown(error).partition("\n\n")[2]
    assert shown == "````\nno **kernel** of <b>`a_b`</b>\n```\n# [x](http://y)\n````\n"
