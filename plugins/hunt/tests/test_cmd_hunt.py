from __future__ import annotations

import json
import shlex
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from ckprof.errors import Interrupted
from ckprof.profiler import Profiler
from ckprof_plugins.pipelines.family import KernelFamily

FAST = ("--boundary", "groups,degenerate", "--draws", "1")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--boundary", "edges"), 2, "unknown boundary 'edges'"),
        (("--boundary", ","), 2, "unknown boundary ''"),
        (("--budget", "soon"), 2, "expected a time such as 90s, 30m or 2h, got 'soon'"),
        (("--draws", "0"), 2, "expected a positive integer, got '0'"),
        (("--family", "edges"), 2, "'edges'"),
        (("--tag", "a"), 2, "--tag names outcomes in a store: it requires --store"),
        (("--format", "csv"), 2, "unknown hunt format 'csv'"),
        (("-o", "junit=none/a.xml"), 3, "there is no folder"),
    ],
)
def test_wrong_calls(ckprof, short_list, arguments, code, message):
    called = ckprof("hunt", "fwd", "--conf", short_list, *arguments)
    assert (called.code, called.out) == (code, "")
    assert message in called.err


@pytest.fixture
def faulty(monkeypatch, tmp_path):
    """Plant a fault into launchers: they do nothing for several groups."""
    # sources of instances are not made again, and others want them without it
    monkeypatch.setenv("CKPROF_WORK_DIR", str(tmp_path / "work"))
    render = KernelFamily.render_named

    def wrong(self, instance, name, arch, api_level):
        source = render(self, instance, name, arch, api_level)
        place = "const dim3 grids"
        assert place in source.header
        return replace(
            source, header=source.header.replace(place, f"if(args.G_ > 1) {{ return 1; }}\n{place}")
        )

    monkeypatch.setattr(KernelFamily, "render_named", wrong)


@pytest.mark.compiler
@pytest.mark.thorough
def test_a_planted_fault_in_every_format(ckprof, short_list, faulty, tmp_path):
    """It is found, explained, made small, repeated by its command, and shared by all kernels."""
    files = [word for name in ("json", "junit", "md") for word in ("-o", f"{name}=out.{name}")]
    called = ckprof("hunt", "fwd", "--conf", short_list, "--instance", "0-1", *FAST, *files)
    assert called.code == 1
    assert "where: G > 1" in called.out and "1 finding" in called.out
    found = json.loads((tmp_path / "out.json").read_text())
    (finding,) = found["findings"]
    assert found["schema"] == "ckprof.hunt" and found["complete"] is True and found["run"] == found["pairs"]
    assert finding["condition"] == "G > 1" and finding["status"] == "wrong_result"
    assert (finding["problem"]["groups"], finding["problem"]["batch"]) == (2, 1)
    assert len(finding["kernels"]) == 2
    cases = ElementTree.parse(tmp_path / "out.junit").findall(".//testcase[@name='groups']")  # noqa: S314
    assert len(cases) == 2 and all(case.find("failure") is not None for case in cases)
    markdown = (tmp_path / "out.md").read_text()
    assert finding["command"] in markdown and "where: G" in markdown
    repeated = ckprof(*shlex.split(finding["command"])[1:])
    assert repeated.code == 1 and "wrong_result" in repeated.out


@pytest.mark.compiler
@pytest.mark.thorough
def test_a_hunt_resumes_from_its_store_and_ends_with_its_budget(ckprof, short_list, tmp_path):
    call = (
        "hunt",
        "fwd",
        "--conf",
        short_list,
        "--instance",
        "0",
        *FAST,
        "--store",
        "hunt.db",
        "--format",
        "json",
    )
    short = ckprof(*call, "--budget", "0s")
    assert short.code == 0
    first = json.loads(short.out)
    assert first["complete"] is False and first["run"] == 0 < first["pairs"]
    whole = json.loads(ckprof(*call).out)
    assert whole["complete"] is True and whole["run"] == whole["pairs"] and whole["from_store"] == 0
    again = json.loads(ckprof(*call).out)
    assert again["from_store"] == again["pairs"] and again["findings"] == []


@pytest.mark.compiler
@pytest.mark.thorough
def test_what_was_found_before_an_interruption_is_shown(ckprof, short_list, faulty, monkeypatch):
    execute = Profiler.execute_until_end
    monkeypatch.setattr(Profiler, "execute_until_end", lambda *given: (execute(*given)[0], Interrupted()))
    called = ckprof("hunt", "fwd", "--conf", short_list, "--instance", "0", *FAST, "--format", "json")
    assert called.code == 130
    found = json.loads(called.out)
    assert found["complete"] is False and found["findings"][0]["condition"] == "G > 1"


@pytest.mark.compiler
@pytest.mark.thorough
def test_support_tests_alone_are_asked(ckprof, short_list):
    called = ckprof("hunt", "fwd", "--conf", short_list, "--boundary", "range")
    assert called.code == 0
    assert "support answers judged, 0 findings" in called.out
