"""A string of each kind."""

import pytest

from ckprof.model.strings import argument_kinds as kinds
from ckprof.model.strings.kind import all_revisions
from ckprof.model.strings.rendering import render

from .samples import GRAMMAR


@pytest.fixture(scope="session")
def sample():
    """Kind id -> a string with every field, in the newest revision."""
    words = {
        kinds.POSITIVE: "8",
        kinds.INT: "1",
        **dict.fromkeys((kinds.ELEMENT_TYPE, kinds.OPERAND_TYPE), "fp16"),
        kinds.LAYOUT: "NHWGC",
        kinds.TUPLE: "EmptyTuple",
        kinds.OPERATION: "PassThrough",
        kinds.SEQUENCE: "Seq(4,64,1)",
        kinds.GEMM_PADDING: "MNKPadding",
    }
    found = {}
    for kind in GRAMMAR.kinds:
        values = {
            field.name: "1"
            if field.kind in kinds.FLAGS
            else words.get(field.kind) or next(iter(field.kind.meanings))
            for field in kind.fields
            if field.name not in kind.literals
        }
        found[kind.id] = render(kind, values, all_revisions()[-1])
    return found
