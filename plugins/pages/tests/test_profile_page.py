"""The page of a kernel's profile."""

import json
import re
from html.parser import HTMLParser

from ckprof_plugins.pages.profile_page import render_profile, timeline_chart
from plugins.pages.tests.profiles import HOSTILE, INSTRUCTIONS, content, instruction


class _Elements(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))


def test_the_page_stands_alone_and_says_that_it_is_predicted():
    text = render_profile(content())
    elements = _Elements(text)
    assert not [
        attrs for _, attrs in elements.tags if str(attrs.get("src") or attrs.get("href")).startswith("http")
    ]
    assert "predicted from machine code, not measured" in text
    assert '<span class="tag lead-open">predicted</span>' in text
    ids = [attrs["id"] for _, attrs in elements.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    # a row for each instruction, to which the timeline leads
    assert {f"i{one.address:x}" for one in INSTRUCTIONS} <= set(ids)
    assert {attrs["href"][1:] for tag, attrs in elements.tags if tag == "a"} <= set(ids)


def test_a_kernel_without_a_loop_has_its_instructions_open():
    text = render_profile(content(instructions=INSTRUCTIONS[:1]))
    assert 'id="loop"' not in text
    assert '<details class="rows" open>' in text


def test_the_timeline_draws_what_is_inside_of_it():
    drawn = timeline_chart(content().profile)
    left, right = 236, 960 - 16
    half = (left + right) / 2
    # the first wave: an instruction in the first half, a wait for the second cause in the other
    assert f"M{left:g} 8h{(right - left) / 2 - 0.3:.1f}v14" in drawn
    assert re.search(rf'd="M{half:g} 11h[\d.]+v8H{half:g}z" class="w1"', drawn)
    # what goes on beyond it is cut
    assert max(float(x) for x in re.findall(r"M([\d.]+) ", drawn)) <= right
    assert "wave 1, wave 0" not in drawn
    assert "memory 40.0 % busy" in drawn


def test_the_script_gets_names_of_what_the_pointer_is_at():
    text = render_profile(content())
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text)
    assert found is not None
    data = json.loads(found[1])
    assert [lane["name"] for lane in data["lanes"]][:2] == ["workgroup 0, wave 0", "workgroup 1, wave 0"]
    begin, end, kind, what, index = data["lanes"][0]["spans"][1]
    assert (begin, end, kind, what) == (10, 20, "waits for", "data")
    assert data["instructions"][index] == "0x4 mem_4 r0, r1"


def test_texts_from_outside_stay_texts():
    hostile = instruction(4, "mul", source=f"{HOSTILE}:1")
    text = render_profile(content(kernel=HOSTILE, compiler=HOSTILE, instructions=(hostile,)))
    assert HOSTILE not in text
    assert "&lt;script&gt;" in text
