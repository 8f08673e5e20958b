"""What users read uses the field's words: pages, help, and the texts of messages and tables."""

import ast
import re

import pytest

from tests.cases import each
from tests.docs.blocks import DOCUMENTS, ROOT

#: what is refused -> what the field says
REFUSED = {
    r"\bsurely\b": "significantly, with 95 % confidence",
    r"\b(take|takes|took|taken|taking) turns\b": "round-robin",
    r"\buntold\b|\btold apart\b|\btells? apart\b": "unidentifiable, distinguished",
    r"\bcards?\b": "device, GPU",
    r"\byardsticks?\b": "baselines, reference policies",
    r"(?<!-)\b[Rr]oofs?\b(?![_-])": "peak, roofline ceiling",
    r"\b(leave|leaves|left|leaving) (\w+ ){0,3}out\b": "omitted, excluded, skipped",
    r"\b(un)?told\b|\bmisspelled as\b|\bspelled\b": "notified, identified; written",
    r"\bno sum has\b": "excluded from all totals",
    r"\bseal(ed|s)?\b": "row checksum",
    r"\bleft the rounds\b|\bleft early\b|\bleft after\b": "pruned",
    r"\bsame (call|command) goes on\b": "rerun the same command to resume",
    r"\bof so many\b|\bso many times\b": "n, multiples of n",
    r"\bis none\b": "not found, missing, is not an X",
    r"(?<!there )\bis no (?!longer|more|less|other|such)[a-z]": "is not a",
    r"\bwhoever\b|\bthat which\b|\bwhat is told\b|\bfor once\b|\btaken for\b": "a plain sentence",
    r"\bshares? (the )?first place\b": "tied with the best",
    r"\bfirst place is decided\b": "winner resolved",
    r"\boutlook\b|\bhopes?\b": "acquisition function, expected improvement",
    r"\bcontests?\b": "ranking",
    r"\btwins?\b|\bdoubted\b": "speculative copy, suspected straggler",
    r"\bunfused beside\b|\bbeside the (others|same|convolution)\b": "paired, unfused baseline",
    r"\bckprof\.tour\b": "batch",
}
_PATTERNS = {re.compile(pattern): right for pattern, right in REFUSED.items()}


def refused(text):
    """Return what of a text is refused, with the right word."""
    return [f"{m[0]!r}: say {right}" for p, right in _PATTERNS.items() for m in p.finditer(text)]


def sentences(path):
    """Yield the texts of a module that have several words and are no docstrings."""
    tree = ast.parse(path.read_text())
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            if " " in node.value.strip():
                yield node.lineno, node.value


@each(path=DOCUMENTS)
def test_a_page_uses_the_words_of_the_field(path):
    # in one line: what is refused may go over the end of one
    text = path.read_text()
    assert not [f"{path.name}: {one}" for one in refused(text.replace("\n", " "))]


@pytest.mark.parametrize("folder", ["ckprof", "plugins", "converters"])
def test_messages_use_the_words_of_the_field(folder):
    modules = [path for path in (ROOT / folder).rglob("*.py") if "tests" not in path.relative_to(ROOT).parts]
    found = [
        f"{path.relative_to(ROOT)}:{number}: {one}"
        for path in modules
        for number, text in sentences(path)
        for one in refused(text.replace("\n", " "))
    ]
    assert not found


@each(path=DOCUMENTS)
def test_a_page_is_short_enough_to_be_read(path):
    assert len(path.read_text().split()) <= 2_500
