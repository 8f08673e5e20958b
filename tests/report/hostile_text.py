"""Texts that mean harm where they are shown, and what a reader of each format makes of a report."""

import dataclasses
import re
from collections.abc import Mapping
from enum import Enum
from html.parser import HTMLParser
from pathlib import Path

import markdown
from markdown_it import MarkdownIt

PAYLOADS = (
    "[x](javascript:alert(1))",
    "[x][y]\n\n[y]: http://a.example 'z'",
    "![](http://a.example/i.png)",
    "<img src=x onerror=alert(1)>",
    "</td></script><script>alert(1)</script>",
    "<!-- <b> --> <?php ?> <![CDATA[x]]>",
    "http://a.example/x HTTPS://A.EXAMPLE www.a.example WWW.a.example",
    "<http://a.example> <x@a.example> x@a.example mailto:x@a.example",
    "a | b || c \\| d \\\\| e",
    "`a` ``b`` ```c``` ~~~ ~~d~~ \\`e\\`",
    "```\nout\n```\n~~~\nout",
    "# h\n## h\n- i\n+ i\n* i\n1. i\n2) i\n> q\n---\n===\n***\n___\n    code",
    "*a* **b** _c_ __d__ ***e*** snake_case_name",
    "&lt;img src=x&gt; &#60;b&#62; &amp;amp; &copy;",
    "\x1b[31mred\x1b[0m \x1b]8;;http://a.example\x07link\x1b]8;;\x07",
    "".join(map(chr, (*range(32), *range(127, 160)))),
    "\u202eevil\u202c \u2066x\u2069 \u200e\u200f\u061c\u200b\ufeff \u2028 \u2029",
    "a\r\nb\rc\x00d\x85e\x0bf\x0cg",
    "lone \ud800 \udfff surrogates",
    '=HYPERLINK("http://a.example")',
    "\n::error file=a::injected\n##vso[task.complete]",
    "$\\href{javascript:alert(1)}{x}$ {{ 7 * 7 }} {% x %} ${x}",
    "\" onmouseover=alert(1) ' autofocus",
    "]]> & ]]&gt;",
)
#: what no reader may find in a report
CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
#: what reports in Markdown are made of
_OURS = {
    *("p", "h2", "h3", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "pre", "code", "strong"),
    *("details", "summary"),
}


def poisoned(value, payload):
    """Return a value with a payload at the end of every text in it; equal texts stay equal."""
    if isinstance(value, (Enum, Path, type)):
        return value
    if isinstance(value, str):
        return value + payload
    if isinstance(value, (tuple, list)):
        return type(value)(poisoned(item, payload) for item in value)
    if isinstance(value, Mapping):
        return {key: poisoned(item, payload) for key, item in value.items()}
    if not dataclasses.is_dataclass(value):
        return value
    changes = {
        field.name: poisoned(getattr(value, field.name), payload)
        for field in dataclasses.fields(value)
        if field.init
    }
    return dataclasses.replace(value, **changes)


class Elements(HTMLParser):
    """Collects elements, their attributes, and the text outside of scripts and styles."""

    def __init__(self, page):
        super().__init__()
        self.seen = []
        self.comments = []
        self.text = ""
        self._within = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        self._within = tag

    def handle_data(self, data):
        if self._within not in ("script", "style"):
            self.text += data

    def handle_comment(self, data):
        self.comments.append(data)

    handle_pi = unknown_decl = handle_comment

    @property
    def tags(self):
        return {tag for tag, _ in self.seen}


def assert_harmless_markdown(text):
    """Check with two readers of Markdown that a report holds nothing but its own elements and text."""
    assert not CONTROL.search(text)
    pages = [
        MarkdownIt("gfm-like", {"html": True}).render(text),
        markdown.markdown(text, extensions=["tables", "fenced_code"]),
    ]
    for page in pages:
        found = Elements(page)
        assert found.tags <= _OURS | {"hr"}, found.tags - _OURS
        assert not found.comments
        for tag, attributes in found.seen:
            assert set(attributes) <= {"style", "open", "class"}, (tag, attributes)
        assert not CONTROL.search(found.text)


def assert_harmless_text(text):
    """Check that nothing in a text acts on a terminal or a build service."""
    assert not CONTROL.search(text)
    assert not re.search(r"(?m)^\s*(::|##\[|##vso\[)", text)
