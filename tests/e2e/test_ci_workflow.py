"""The workflow of the documents and the action of the repository: their steps are run as GitHub runs them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from tests.e2e.conftest import LISTS, ROOT
from tests.report.services import cases, obeyed

_EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")


@dataclass(kw_only=True)
class Step:
    """What became of one step."""

    name: str
    code: int
    log: str
    summary: str
    outputs: Mapping[str, str]


@dataclass(kw_only=True)
class Runner:
    """A machine with a workspace, on which steps are run one after the other."""

    workspace: Path
    #: where caches lie from run to run
    caches: Path
    temp: Path
    ref: str = "refs/pull/1/merge"
    run_id: int = 1
    env: dict[str, str] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)
    action_path: Path | None = None
    used: list[str] = field(default_factory=list)
    steps: dict[str, Step] = field(default_factory=dict)

    def __post_init__(self):
        self.temp.mkdir(parents=True, exist_ok=True)
        self.caches.mkdir(parents=True, exist_ok=True)
        tools = self.temp / "tools"
        tools.mkdir(exist_ok=True)
        # what is installed is the ckprof that is tested
        _script(tools / "ckprof", f'exec "{sys.executable}" -m ckprof "$@"')
        _script(tools / "pip", 'echo "installed: $*"')
        _script(tools / "python", '[ "$1 $2" = "-m pip" ] && echo "installed: $*"')

    def action(self, path, **inputs):
        """Run a composite action, and return its outputs."""
        content = yaml.safe_load((path / "action.yml").read_text())
        assert content["runs"]["using"] == "composite"
        declared = content["inputs"]
        assert set(inputs) <= set(declared)
        missing = [name for name, one in declared.items() if one.get("required") and name not in inputs]
        assert not missing, missing
        self.inputs = {name: inputs.get(name, one.get("default", "")) for name, one in declared.items()}
        self.action_path = path
        assert all("shell" in step for step in content["runs"]["steps"] if "run" in step), "actions need it"
        self.run(content["runs"]["steps"])
        return {name: self._filled(one["value"]) for name, one in content["outputs"].items()}

    def workflow(self, path, **env):
        """Run the only job of a workflow; return its steps that have a name.

        :param env: values that the workflow's user has changed.
        """
        content = yaml.safe_load(path.read_text())
        self.env = {name: self._filled(str(value)) for name, value in {**content["env"], **env}.items()}
        assert set(env) <= set(content["env"])
        (job,) = content["jobs"].values()
        return self.run(job["steps"])

    def run(self, steps):
        """Run steps until one fails; then only those that run always."""
        done = []
        save = []
        for number, step in enumerate(steps):
            failed = any(one.code for one in done)
            condition = str(step.get("if", "success()"))
            if not self._holds(condition) or (failed and "always()" not in condition):
                continue
            if "uses" in step:
                self.used.append(step["uses"])
                given = {key: self._filled(str(value)) for key, value in step.get("with", {}).items()}
                save += self._use(step["uses"], given)
                continue
            done.append(self._run(step, str(number)))
            self.steps[step.get("id", str(number))] = done[-1]
        if not any(one.code for one in done):
            for given in save:
                self._keep(given)
        return done

    def _run(self, step, name):
        files = {key: self.temp / f"{key}-{name}" for key in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        for path in files.values():
            path.write_text("")
        script = self.temp / "script.sh"
        script.write_text(self._filled(step["run"]))
        environment = {
            **os.environ,
            **self.env,
            **{key: self._filled(str(value)) for key, value in step.get("env", {}).items()},
            **{key: str(path) for key, path in files.items()},
            "PATH": f"{self.temp / 'tools'}:{os.environ['PATH']}",
            "GITHUB_SHA": f"{self.run_id:040x}",
            "GITHUB_WORKSPACE": str(self.workspace),
            "PYTHONPATH": str(Path(__file__).parents[2]),
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=self.workspace / self._filled(step.get("working-directory", ".")),
            env=environment, capture_output=True, text=True, timeout=280, check=False,
        )  # fmt: skip
        written = files["GITHUB_OUTPUT"].read_text()
        return Step(
            name=step.get("name", ""),
            code=done.returncode,
            log=done.stdout + done.stderr,
            summary=files["GITHUB_STEP_SUMMARY"].read_text(),
            outputs=dict(line.split("=", 1) for line in written.splitlines()),
        )

    def _use(self, action, given):
        """Do what a step with a cache does at once, and return what it saves at the end of a good job."""
        name = action.partition("@")[0]
        if name in ("actions/cache", "actions/cache/restore"):
            self._restore(given)
        if name == "actions/cache/save":
            self._keep(given)
        return [given] if name == "actions/cache" else []

    def _restore(self, given):
        prefixes = [given["key"], *given["restore-keys"].split()]
        kept = sorted(self.caches.iterdir(), key=lambda path: path.stat().st_mtime_ns, reverse=True)
        for prefix in prefixes:
            for found in kept:
                if found.name.startswith(prefix):
                    _copy(found, self.workspace / given["path"])
                    return

    def _keep(self, given):
        if not (self.caches / given["key"]).exists():
            _copy(self.workspace / given["path"], self.caches / given["key"])

    def _holds(self, condition):
        if condition in ("always()", "success()"):
            return True
        left, operator, right = condition.split(" ", 2)
        assert operator in ("==", "!=") and re.fullmatch("'[^']*'", right), condition
        return (self._value(left) == right.strip("'")) == (operator == "==")

    def _filled(self, text):
        return _EXPRESSION.sub(lambda match: self._value(match[1]), text)

    def _value(self, expression):
        context, _, name = expression.partition(".")
        if context == "inputs":
            return self.inputs[name]
        if context == "steps":
            step, kind, output = name.split(".")
            assert kind == "outputs"
            return self.steps[step].outputs.get(output, "") if step in self.steps else ""
        return {
            "github.workspace": str(self.workspace),
            "github.action_path": str(self.action_path),
            "github.ref": self.ref,
            "github.run_id": str(self.run_id),
            "github.job": "kernels",
            "runner.os": "Linux",
            "runner.arch": "X64",
            "runner.temp": str(self.temp),
        }[expression]


def _script(path, line):
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)


def _copy(source, target):
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True, symlinks=True)
    elif source.exists():
        shutil.copyfile(source, target)


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
