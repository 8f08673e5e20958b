"""A kernel family that was written before members and modules were renamed works unchanged."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ckprof.plugin.former_names import FORMER_MODULES, accept_former_modules
from ckprof.plugin.protocols import ReportFormat
from ckprof_converters.conf_family import ConfFamily

OLD = Path(__file__).parent.parent / "data" / "old_plugin"


@pytest.fixture
def old_ckprof(tmp_path):
    """Call ckprof with the old package; in a process, because warnings of imports must not be lost."""

    def call(*arguments):
        return subprocess.run(
            [
                sys.executable,
                "-W",
                "error",
                "-m",
                "ckprof",
                "--plugin",
                "ckprof_naive_gather.plugin",
                *arguments,
            ],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(OLD)},
            timeout=240,
        )

    return call


def test_the_copy_uses_the_former_names():
    text = (OLD / "ckprof_naive_gather" / "pipeline.py").read_text()
    header = (OLD / "ckprof_naive_gather" / "templates" / "kernel.hpp.j2").read_text()
    assert "from ckprof.model.refusal import Refusal" in text and "def refusals(" in text
    assert "host_model/refusal.hpp" in header and "return refuse(" in header


def test_its_list_is_read_and_checked(old_ckprof):
    done = old_ckprof("list", "instances", "--conf", str(OLD / "naive.conf"))
    assert done.returncode == 0, done.stderr
    assert "naive_gather_fwd_fp32_64x8" in done.stdout


@pytest.mark.compiler
def test_its_kernels_are_built_and_run(old_ckprof):
    done = old_ckprof("run", "fwd", "--conf", str(OLD / "naive.conf"), "--filter", "channels != 8",
        "--max-time", "0.05",
        "--problem", "conv -n 2 -c 16 -H 9 -W 9 -k 12 -y 3 -x 3 -p 1 -q 1 -u 2 -v 2 -g 2 -F 1")  # fmt: skip
    assert done.returncode == 0, done.stderr + done.stdout
    assert "3 instances: 2 ok, 1 unsupported" in done.stdout
    assert "naive-gather-size" in done.stdout


def test_former_keywords_of_tables():
    family = ConfFamily(id="x", title="x", rival="y", refusal="why", refusal_rule="rule")
    assert (family.conflicting_family, family.rejection, family.rejection_rule) == ("y", "why", "rule")
    assert replace(family, id="z").rejection == "why"
    assert ConfFamily(id="x", title="x").rejection_rule == "unsupported-family"
    made = ReportFormat(id="x", label="x", render=str, render_tour=repr)
    assert made.render_batch is repr
    assert replace(made, id="z").render_batch is repr
    assert ReportFormat(id="x", label="x", render=str, render_batch=repr).render_batch is repr


@pytest.mark.parametrize("former", FORMER_MODULES)
def test_former_modules(former):
    accept_former_modules()
    now, renamed = FORMER_MODULES[former]
    old, new = importlib.import_module(former), importlib.import_module(now)
    public = [name for name in vars(new) if not name.startswith("__")]
    assert public and all(getattr(old, name) is getattr(new, name) for name in public)
    for name, current in renamed.items():
        assert getattr(old, name) is getattr(new, current)
