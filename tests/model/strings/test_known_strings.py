"""Strings of Composable Kernel's own tests and lists come back in the revisions that print them."""

from __future__ import annotations

from ckprof.model.strings.kind import find_revision
from tests.cases import Cases
from tests.places import TESTS

from .samples import GRAMMAR

KNOWN = (TESTS / "data" / "builder" / "known.txt").read_text().splitlines()[1:]


def test_known_strings_come_back() -> None:
    with Cases() as cases:
        for line in KNOWN:
            kind, revisions, text = line.split()
            with cases.case(text):
                parsed = GRAMMAR.parse(text)
                assert parsed.kind_id == kind
                for name in revisions.split(","):
                    assert GRAMMAR.parse(text, find_revision(name)) == parsed
                    assert GRAMMAR.render(parsed, find_revision(name)) == text
