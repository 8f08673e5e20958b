"""Documents: their parts in order, and nothing in them that acts on a terminal."""

import re

from hypothesis import given

from ckprof.report.document import Block, Document, Heading
from ckprof.report.table import Terminal
from tests.report.test_table import Kernel, table, texts


@given(text=texts)
def test_documents_are_plain_but_for_line_feeds(text):
    document = Document()
    document.add(Heading(text), text, Block((text,)), table(Kernel(text)))
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", document.text(Terminal(width=50)))


def test_the_parts_of_a_document():
    document = Document([Heading("Title"), "two\nlines", Block(("code",))])
    document.add("", "last")
    assert document.text() == "Title\n\ntwo\nlines\n\ncode\n\nlast\n"
    assert document.markdown() == "### Title\n\ntwo\nlines\n\n```\ncode\n```\n\nlast\n"
