"""The report as an image: complete, in the page's colours, honest about what is missing; boxes of samples."""

import builtins
import re
import struct
import zlib
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckprof.compare.side import side_of
from ckprof.errors import UsageError
from ckprof.model.outcome import Status
from ckprof.model.roofline import Ceiling
from ckprof_plugins.pages import image
from ckprof_plugins.pages.charts import box_chart, box_of, boxes
from ckprof_plugins.pages.content import report_content
from ckprof_plugins.pages.options import ReportOptions
from tests.measured import Made, attempts

MADE = Made(problems=3, instances=5, failing=lambda p, i: Status.RUN_ERROR if (p, i) == (0, 0) else None)


@pytest.fixture(scope="module")
def content():
    options = ReportOptions(title="A <title>", ceilings=(Ceiling.parse("measured=100,50"),))
    return report_content(side_of("results.db", attempts(MADE)), options)


def pixels(png):
    """Decode a PNG with eight bits per channel, independent of what wrote it."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    data, at = b"", 8
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at : at + 8])
        body = png[at + 8 : at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
        elif kind == b"IDAT":
            data += body
        at += size + 12
    assert depth == 8
    channels = {2: 3, 6: 4}[colour]
    rows = np.frombuffer(zlib.decompress(data), np.uint8).reshape(height, 1 + width * channels)
    above = np.zeros(width * channels, np.uint8)
    found = np.empty((height, width * channels), np.uint8)
    for number, row in enumerate(rows):
        line, kind = row[1:].copy(), row[0]
        if kind == 2:
            line += above
        elif kind:
            for index in range(len(line)):
                left = int(line[index - channels]) if index >= channels else 0
                corner = int(above[index - channels]) if index >= channels else 0
                up = int(above[index])
                nearest = min((left, up, corner), key=lambda one: abs(left + up - corner - one))
                guess = {1: left, 3: (left + up) // 2, 4: nearest}[int(kind)]
                line[index] = (int(line[index]) + guess) & 255
        above = found[number] = line
    return found.reshape(height, width, channels)[:, :, :3]


def test_the_drawing_has_everything(content):
    root = ElementTree.fromstring(image._drawing(content))  # noqa: S314 - our own text
    texts = ["".join(one.itertext()) for one in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[0] == "A <title>"
    for heading in ("Best per problem", "Roofline", "Kernels that a library needs"):
        assert heading in texts
    assert {"P1", "P2", "P3", "measured ceiling"} <= set(texts)
    for row in content.best:
        assert f"{row.best.time_ms:.4g}" in texts
    styles = "".join(one.text or "" for one in root.iter("{http://www.w3.org/2000/svg}style"))
    assert "var(" not in styles and "--" not in styles


def test_many_problems_are_counted_and_none_is_an_image_too(content):
    many = replace(content, best=tuple(content.best[0] for _ in range(50)))
    assert "and 20 more problems" in image._drawing(many)
    drawing = image._drawing(report_content(side_of("empty.db", []), ReportOptions()))
    assert "Roofline" not in drawing


@pytest.mark.slow
def test_the_image(content):
    pytest.importorskip("resvg_py")
    if not image._has_font():
        pytest.skip("no font is installed")
    found = pixels(image.render_png(content))
    height = re.search(r'height="(\d+)"', image._drawing(content))
    assert height and found.shape == (round(1.5 * int(height[1])), 1800, 3)
    seen = {tuple(one) for one in np.unique(found.reshape(-1, 3), axis=0).tolist()}
    # paper, the best cells of the heat map, and those that failed
    assert {(255, 255, 255), (0xD9, 0x77, 0x06), (0xE5, 0x53, 0x4B)} <= seen


def test_without_the_renderer_or_a_font(content, monkeypatch):
    pytest.importorskip("resvg_py")
    monkeypatch.setattr(image, "_has_font", lambda: False)
    with pytest.raises(UsageError, match="fonts-dejavu-core"):
        image.render_png(content)
    real = builtins.__import__

    def without(name, *rest):
        if name == "resvg_py":
            raise ImportError(name)
        return real(name, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UsageError, match=r"ckprof\[report\]"):
        image.render_png(content)


samples = st.lists(st.floats(1e-4, 1e4), min_size=1, max_size=60)


@given(samples)
def test_a_box(values):
    box = box_of("x", values)
    first, middle, third = np.quantile(values, [0.25, 0.5, 0.75])
    assert (box.first_quartile, box.median, box.third_quartile) == pytest.approx((first, middle, third))
    within = [one for one in values if first - 1.5 * (third - first) <= one <= third + 1.5 * (third - first)]
    assert box.samples == len(values)
    assert len(within) == pytest.approx(len(values) - box.beyond_count, abs=1)
    assert box.low <= box.median <= box.high
    assert len(box.beyond) == min(20, box.beyond_count)
    assert all(one < box.low or one > box.high for one in box.beyond)


def test_the_fastest_kernels_of_each_problem():
    made = list(attempts(Made(problems=3, instances=4, rounds=5)))
    side = side_of("x", made)
    found = boxes(side, made, kernels=2)
    for key, of_problem in found.items():
        best, second = side.by_problem[key][:2]
        expected = [
            [
                s
                for one in made
                if one.key.digest == row.measurement.digest
                for s in one.measurement.samples_ms
            ]
            for row in (best, second)
            if row.time
        ]
        assert [box.median for box in of_problem] == pytest.approx([np.median(some) for some in expected])
        assert [box.samples for box in of_problem] == [25, 25]


def test_no_box_is_no_chart():
    text = ("x", "x", "x")
    assert box_chart([], *text) is None
    drawn = box_chart([box_of("a<b", [1.0, 1.0, 1.0, 9.0])], *text)
    assert drawn is not None and "a&lt;b" in drawn and drawn.count('class="beyond"') == 1
