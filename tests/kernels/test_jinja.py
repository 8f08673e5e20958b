"""All templates, those of pages among them: text only, no computing."""

import subprocess
import sys
from pathlib import Path

import jinja2
import pytest
from jinja2 import nodes

import ckprof
import ckprof_plugins
from ckprof.kernels.jinja import render, render_cached
from ckprof.model.architecture import LATEST_API_LEVEL
from ckprof_plugins.directions.fwd import Forward
from ckprof_plugins.pipelines.gemm_families import ImplicitGemmPipeline
from tests.cases import each

TEMPLATES = sorted(
    path for package in (ckprof, ckprof_plugins) for path in Path(package.__path__[0]).glob("**/*.j2")
)

#: Filters that only say how something looks.
HARMLESS_FILTERS = {"length"}


@each(path=TEMPLATES)
def test_templates_compute_nothing(path):
    tree = jinja2.Environment(autoescape=True).parse(path.read_text())
    computing = (nodes.BinExpr, nodes.Concat, nodes.Neg, nodes.Call)
    # And, Or and Not are decisions, not computations.
    decisions = (nodes.And, nodes.Or)
    found = [type(node).__name__ for node in tree.find_all(computing) if not isinstance(node, decisions)]
    assert found == []
    assert {node.name for node in tree.find_all(nodes.Filter)} <= HARMLESS_FILTERS


def test_templates_are_there_and_complete():
    assert len(TEMPLATES) >= 3
    with pytest.raises(jinja2.UndefinedError, match="undefined"):
        render("ckprof.kernels", "library.cpp.j2", version="0", library="x")
    with pytest.raises(ModuleNotFoundError):
        render("no_such_package", "x.j2")
    with pytest.raises(jinja2.TemplateNotFound):
        render("ckprof.kernels", "x.j2")


def test_filling_is_rendering(make_instance):
    for changes in ({}, {"pipeline": "wavelet"}, {"dtype": "fp32", "tile_m": 256}, {"split_image": True}):
        instance = make_instance(**changes)
        header = ImplicitGemmPipeline().header_of(
            instance, Forward.operation, "a_kernel", "gfx942", LATEST_API_LEVEL
        )
        package = "ckprof_plugins.pipelines"
        filled = render_cached(package, header.template, header, header.literal_fields)
        assert filled == render(package, header.template, p=header)


def test_a_wrong_template_is_named_with_its_line(tmp_path, monkeypatch):
    folder = tmp_path / "broken_package" / "templates"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").touch()
    (folder / "kernel.hpp.j2").write_text("// one\n{{{ name }}\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match=r"^broken_package:kernel.hpp.j2, line 2: expected token"):
        render("broken_package", "kernel.hpp.j2", name="x")


def test_jinja_is_loaded_on_first_use():
    modules = "sys, ckprof.kernels, ckprof_plugins.pipelines.gemm_families"
    code = f"import {modules}; print('jinja2' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "False\n"
