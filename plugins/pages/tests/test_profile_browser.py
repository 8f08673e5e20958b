"""The page of a kernel's profile in a real browser."""

import pytest

from ckprof_plugins.pages.profile_page import render_profile
from plugins.pages.tests.browser import Browser, find_browser
from plugins.pages.tests.profiles import content

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.browser,
    pytest.mark.skipif(find_browser() is None, reason="there is no Chromium; Debian's package is chromium"),
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    folder = tmp_path_factory.mktemp("profile")
    page = folder / "page.html"
    page.write_text(render_profile(content()))
    program = find_browser()
    assert program is not None
    with Browser(program, folder / "browser", 200) as found:
        found.open(page)
        yield found


def _at(browser, share, lane):
    """Return where a share of the cycles is in a lane, in pixels of the window."""
    browser.evaluate("document.getElementById('timeline').scrollIntoView()")
    point = (
        "(() => { const chart = document.getElementById('timeline');"
        "const data = JSON.parse(document.getElementById('data').textContent);"
        "const width = chart.viewBox.baseVal.width - data.left - data.right;"
        f"const at = new DOMPoint(data.left + {share} * width, data.top + ({lane} + 0.4) * data.lane)"
        ".matrixTransform(chart.getScreenCTM()); return [at.x, at.y]; })()"
    )
    x, y = browser.evaluate(point)
    return x, y


def test_the_pointer_names_what_it_is_at(browser):
    for share, lane, text in (
        (0.25, 0, "workgroup 0, wave 0: issues 0xc mul_c r0, r1, 10 cycles from 0"),
        (0.75, 0, "workgroup 0, wave 0: waits for data before 0x4 mem_4 r0, r1, 10 cycles from 10"),
        (0.9, 2, "multiplier: nothing"),
    ):
        x, y = _at(browser, share, lane)
        browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        assert text in browser.evaluate("document.getElementById('timeline-readout').textContent")


def test_a_click_leads_to_the_instruction(browser):
    x, y = _at(browser, 0.75, 0)
    for kind in ("mousePressed", "mouseReleased"):
        browser.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
    assert browser.evaluate("location.hash") == "#i4"


def test_small_windows_and_dark_ones(browser, tmp_path):
    browser.colours("dark")
    browser.resize(400)
    assert browser.evaluate("document.documentElement.scrollWidth") <= 400
    colour = "getComputedStyle(document.body).backgroundColor"
    assert browser.evaluate(colour) == "rgb(15, 19, 24)"
    browser.colours("light")
    assert browser.evaluate(colour) == "rgb(255, 255, 255)"
    assert browser.console == []
    assert all(url.startswith(("file:", "data:")) for url in browser.requests)
