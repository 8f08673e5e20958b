"""Texts that mean harm stay texts in reports of stores."""

import re
from functools import cache
from xml.etree import ElementTree

import pytest

from ckprof_plugins.pages import image
from ckprof_plugins.pages.content import report_content
from ckprof_plugins.pages.markdown import render_markdown
from ckprof_plugins.pages.options import ReportOptions
from ckprof_plugins.pages.page import render_html
from tests.report.hostile_text import CONTROL, PAYLOADS, Elements, assert_harmless_markdown
from tests.report.test_escape import ALL, sides

#: of whole pages; in the fast suite all in one, and a link, a comment, a fence, controls, a service's command
HOSTILE_PAGE = pytest.mark.parametrize(
    "payload",
    [
        ALL,
        *(
            pytest.param(payload, marks=pytest.mark.thorough if number % 5 else ())
            for number, payload in enumerate(PAYLOADS)
        ),
    ],
    ids=lambda text: ascii(text)[1:25],
)


@HOSTILE_PAGE
def test_stores_show_texts_as_texts(payload):
    old, new = sides(payload)
    content = report_content(old, ReportOptions(title=f"title {payload}"), new)
    assert_harmless_markdown(render_markdown(content))
    page = render_html(content)
    assert not CONTROL.search(page)
    found = Elements(page)
    assert found.tags == usual_tags() and not found.comments
    assert not CONTROL.search(found.text)
    for tag, attributes in found.seen:
        assert not any(name.startswith("on") or name in ("src", "autofocus") for name in attributes), tag
        assert re.match(r"#|data:,$", attributes.get("href") or "#"), tag
        assert not any(CONTROL.search(value or "") for value in attributes.values())
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert not re.search(r"\\u00[019]|\\u20[26]", data.replace("\\\\", ""))
    drawn = image._drawing(content)
    assert not CONTROL.search(drawn)
    ElementTree.fromstring(drawn)  # noqa: S314 - our own text


@cache
def usual_tags():
    old, new = sides("")
    return Elements(render_html(report_content(old, ReportOptions(), new))).tags
