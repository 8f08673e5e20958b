"""The workflow of the documents and the action of the repository: their steps are run as GitHub runs them."""

import shutil

import pytest

from tests.e2e.conftest import LISTS, ROOT
from tests.e2e.github_actions import Runner
from tests.report.services import cases, obeyed

WORKFLOW = ROOT / "docs" / "ci" / "ckprof.yml"
PROBLEM = "conv -n 1 -c 16 -H 8 -W 8 -k 16 -y 3 -x 3 -p 1 -q 1 -F 1"


@pytest.fixture
def repository(tmp_path):
    """A checkout with a list of three instances."""
    folder = tmp_path / "checkout"
    (folder / ".git").mkdir(parents=True)
    lines = (LISTS / "forward" / "tests" / "nhwgc_fp16.conf").read_text().splitlines()
    (folder / "nhwgc_fp16.conf").write_text("\n".join(lines[:3]) + "\n")
    return folder


@pytest.fixture
def runner(tmp_path, repository):
    return Runner(workspace=repository, caches=tmp_path / "caches", temp=tmp_path / "temp")


def test_the_action_reports_a_list_that_cannot_be_read(runner, repository):
    (repository / "sub").mkdir()
    (repository / "sub" / "bad.conf").write_text("DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle_V3<2, 3\n")
    outputs = runner.action(
        ROOT,
        **{"command": "parity", "arguments": 'fwd --conf "bad.conf"', "working-directory": "sub"},
        report="p.xml",
    )
    assert outputs == {"exit-code": "3", "report": "sub/p.xml"}
    step = runner.steps["call"]
    assert step.code == 3
    (remark,) = obeyed(step.log)
    assert (remark["file"], remark["line"]) == ("sub/bad.conf", "1")
    report = (repository / outputs["report"]).read_text()
    assert cases(report) == {("sub/bad.conf", "can be read"): "error"}
    assert "exit code 3" in step.summary and "bad.conf:1:" in step.summary


def test_the_action_passes_words_on_and_runs_nothing_in_them(runner, repository):
    spaced = repository / "a list_nhwgc_fp16.conf"
    shutil.copyfile(repository / "nhwgc_fp16.conf", spaced)
    words = (
        f"fwd --conf '{spaced.name}' --fail-on missing,extra $(touch planted) `touch planted` ; touch planted"
    )
    assert runner.action(ROOT, command="parity", arguments=words)["exit-code"] == "2"
    assert not list(repository.rglob("planted"))
    good = f"fwd --conf '{spaced.name}'"
    outputs = runner.action(ROOT, command="parity", arguments=good)
    assert outputs == {"exit-code": "0", "report": "./ckprof.xml"}
    assert len(cases((repository / "ckprof.xml").read_text())) == 3
    assert "parity holds" in runner.steps["call"].summary
    assert runner.used == ["actions/setup-python@v5", "actions/cache@v4"] * 2


def test_the_action_converts_and_installs(runner, repository):
    arguments = "nhwgc_fp16.conf -o catalog.json"
    options = {"python-version": "", "cache": "false", "install": "ckprof==0.1.0"}
    outputs = runner.action(ROOT, command="convert", arguments=arguments, **options)
    assert outputs == {"exit-code": "0", "report": ""}
    assert (repository / "catalog.json").is_file()
    assert runner.used == []
    assert "ckprof==0.1.0" in next(step.log for step in runner.steps.values() if "install" in step.name)


@pytest.mark.slow
@pytest.mark.compiler
@pytest.mark.usefixtures("quick_compiler")
def test_the_workflow_from_one_push_to_a_pull_request(runner, repository, ckprof, tmp_path, monkeypatch):
    monkeypatch.chdir(repository)
    conf = repository / "nhwgc_fp16.conf"
    ckprof("parity", "fwd", "--conf", conf, "--write", repository / "parity.lock").ok()
    lines = conf.read_text()
    runner.ref = "refs/heads/main"
    push = {step.name: step for step in runner.workflow(WORKFLOW, PROBLEM=PROBLEM)}
    assert [step.code for step in push.values()] == [0] * 5, [step.log for step in push.values()]
    assert "3 compiled, 0 from the cache" in push["run"].log
    assert "no store of the main branch yet" in push["compare"].log
    assert len(cases((repository / "run.xml").read_text())) == 4
    before = cases((repository / "parity.xml").read_text())

    # a pull request: another machine, and a list with a line more
    clone = tmp_path / "other" / "clone"
    shutil.copytree(repository, clone, ignore=shutil.ignore_patterns("*.db", "*.xml", ".ckprof-cache"))
    (clone / conf.name).write_text(f"# a remark\n{lines}")
    runner.workspace, runner.ref, runner.run_id = clone, "refs/pull/1/merge", 2
    pull = {step.name: step for step in runner.workflow(WORKFLOW, PROBLEM=PROBLEM)}
    assert [step.code for step in pull.values()] == [0] * 4, [step.log for step in pull.values()]
    assert "0 compiled, 3 from the cache" in pull["run"].log
    assert cases((clone / "parity.xml").read_text()) == before
    assert len(cases((clone / "compare.xml").read_text())) == 3
    assert all(step.summary for name, step in pull.items() if name in ("parity", "run", "compare"))

    # an instance is lost: parity and the comparison fail, and both say so
    (clone / conf.name).write_text("\n".join(lines.splitlines()[1:]) + "\n")
    (clone / "new.db").unlink()
    runner.run_id = 3
    lost = {step.name: step for step in runner.workflow(WORKFLOW, PROBLEM=PROBLEM)}
    assert {name: step.code for name, step in lost.items() if name} == {"parity": 1, "run": 0, "compare": 1}
    assert [one["title"] for one in obeyed(lost["parity"].log)] == ["parity: missing"]
    assert "failure" in cases((clone / "parity.xml").read_text()).values()
