"""The formats that are registered: which there are, and that each renders what it is for."""

import json
from xml.etree import ElementTree

from ckprof.errors import InputError
from ckprof.model.results import BatchResults, ListResult, ListVerdict
from ckprof.report.plugin import comparison_formats, parity_formats, run_formats
from tests.cases import Cases
from tests.report.test_parity_text import FULL, report

EVERY = {"csv", "github", "json", "junit", "md", "table"}


def reads(id_, text):
    """Check that a text is in its format."""
    assert text.endswith("\n") and "\x1b" not in text
    if id_ == "json":
        assert json.loads(text)["version"] >= 1
    elif id_ == "junit":
        assert ElementTree.fromstring(text).tag == "testsuites"  # noqa: S314 - our own text


def test_every_format_renders_what_it_is_for(results, comparison):
    batch = BatchResults(
        root="conf",
        set_name="",
        found=1,
        lists=(ListResult(name="a", direction="fwd", verdict=ListVerdict.FAILED, results=results),),
    )
    with Cases() as cases:
        for formats, render, subject in (
            (run_formats(), "render", results),
            (run_formats(), "render_batch", batch),
            (parity_formats(), "render", report(FULL)),
            (comparison_formats(), "render", comparison),
        ):
            for one in formats:
                with cases.case(type(one).__name__, render, one.id):
                    reads(one.id, getattr(one, render)(subject))
    ids = [{one.id for one in made()} for made in (run_formats, comparison_formats, parity_formats)]
    assert ids == [EVERY, EVERY, EVERY - {"csv"}]


def test_formats_for_ci_and_pull_requests_say_why_there_is_no_result():
    error = InputError("wrong", "b.conf", 4)
    for made in (run_formats, parity_formats, comparison_formats):
        said = {one.id: one.render_failure(error) for one in made() if one.render_failure}
        assert said.keys() == {"github", "junit", "md"}
        assert all("wrong" in text for text in said.values())
        reads("junit", said["junit"])


def test_only_annotations_of_runs_are_commands():
    assert [one.id for one in run_formats() if one.commands] == ["github"]
