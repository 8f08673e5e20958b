"""All templates, those of pages among them: text only, no computing."""

from __future__ import annotations

from pathlib import Path

import jinja2
import pytest
from jinja2 import nodes

import ckprof
import ckprof_plugins
from ckprof.kernels.c_interface import boolean, string_literal
from ckprof.kernels.jinja import render

TEMPLATES = sorted(
    path for package in (ckprof, ckprof_plugins) for path in Path(package.__path__[0]).glob("**/*.j2")
)

#: Filters that only say how something looks.
HARMLESS_FILTERS = {"length"}


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_templates_compute_nothing(path):
    tree = jinja2.Environment(autoescape=True).parse(path.read_text())
    computing = (nodes.BinExpr, nodes.Concat, nodes.Neg, nodes.Call)
    # And, Or and Not are decisions, not computations.
    decisions = (nodes.And, nodes.Or)
    found = [type(node).__name__ for node in tree.find_all(computing) if not isinstance(node, decisions)]
    assert found == []
    assert {node.name for node in tree.find_all(nodes.Filter)} <= HARMLESS_FILTERS


def test_there_are_templates():
    assert len(TEMPLATES) >= 3


def test_missing_values_are_errors():
    with pytest.raises(jinja2.UndefinedError, match="undefined"):
        render("ckprof.kernels", "library.cpp.j2", version="0", library="x")


def test_templates_of_unknown_packages_are_errors():
    with pytest.raises(ModuleNotFoundError):
        render("no_such_package", "x.j2")
    with pytest.raises(jinja2.TemplateNotFound):
        render("ckprof.kernels", "x.j2")


def test_booleans():
    assert (boolean(True), boolean(False)) == ("true", "false")


@pytest.mark.parametrize(
    ("text", "literal"),
    [("gfx942", '"gfx942"'), ('a"b\\', '"a\\"b\\\\"'), ("\n1", '"\\0121"'), ("é", '"\\303\\251"')],
)
def test_string_literals(text, literal):
    assert string_literal(text) == literal
