"""Results as people see them in programs and notebooks: text, tables, charts."""

import base64
import builtins
import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from ckprof.data_frame import data_frame
from ckprof.errors import UsageError
from ckprof.results import Results

SVG = "{http://www.w3.org/2000/svg}"
EVIL = "<img src=x onerror=alert(1)>\x1b[31m"


def texts(svg):
    """Return what is drawn as text, of a file that is well formed."""
    root = ElementTree.fromstring(svg)  # noqa: S314 - our own text
    assert root.tag == f"{SVG}svg"
    return ["".join(one.itertext()) for one in root.iter(f"{SVG}text")]


def test_bars_are_of_verified_kernels_alone(results):
    drawn = Results(results).plot.bars()
    # kernel_0 is faster and wrong, kernel_3 is faster and was not verified
    assert [text for text in texts(drawn.svg) if "kernel_" in text] == ["kernel_2", "kernel_1"]
    widths = [float(one) for one in re.findall(r'width="([\d.]+)" height="16"', drawn.svg)]
    assert widths[1] == pytest.approx(2 * widths[0], rel=0.01)
    assert "The 2 fastest of 2 kernels on " in repr(drawn)


def test_bars_of_what_was_not_verified_say_so(results):
    outcomes = tuple(replace(one, verification=None) for one in results.outcomes)
    drawn = texts(Results(replace(results, outcomes=outcomes)).plot.bars().svg)
    assert "kernel_3" in drawn and "kernel_0" not in drawn
    assert sum("not verified" in text for text in drawn) == 3


def test_the_roofline_has_the_points_of_the_best(results):
    drawn = Results(results).plot.roofline(["measured=100,50"]).svg
    assert Results(results).plot.roofline("measured=100,50").svg == drawn
    assert drawn.count('class="point"') == 1 and "measured ceiling" in texts(drawn)
    (problem,) = results.problems
    gflops = problem.flop / 2.0 / 1e6
    assert f"P0: kernel_2, {gflops:.4g} GFLOP/s" in drawn
    with pytest.raises(UsageError, match="ceiling "):
        Results(results).plot.roofline(["fast"])


def test_nothing_to_draw(results):
    none = Results(replace(results, outcomes=()))
    with pytest.raises(ValueError, match="no kernel has a time on problem 0"):
        none.plot.bars()
    with pytest.raises(ValueError, match="no problem has a kernel"):
        none.plot.roofline()
    with pytest.raises(UsageError, match="problem 5: the results have 1, from 0"):
        none.plot.bars(5)


def test_charts_are_files_and_images(results, tmp_path):
    drawn = Results(results).plot.bars()
    drawn.save(tmp_path / "bars.svg")
    assert (tmp_path / "bars.svg").read_text() == drawn.svg and "var(" not in drawn.svg
    shown = re.fullmatch(r'<img alt="([^"]+)" src="data:image/svg\+xml;base64,([^"]+)">', drawn._repr_html_())
    assert shown and base64.b64decode(shown[2]).decode() == drawn.svg


class Cells(HTMLParser):
    """Collects the elements and the texts of cells."""

    def __init__(self):
        super().__init__()
        self.tags = set()
        self.texts = []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag in ("td", "th"):
            self.texts.append("")

    def handle_data(self, data):
        if self.texts:
            self.texts[-1] += data


def test_notebooks_show_tables_and_no_tag_of_others(results):
    instances = tuple(replace(one, name=f"{one.name}{EVIL}") for one in results.instances)
    page = Results(replace(results, instances=instances))._repr_html_()
    reader = Cells()
    reader.feed(page)
    assert reader.tags <= {"table", "thead", "tbody", "tr", "th", "td", "h4", "pre", "p"}
    assert "\x1b" not in page
    assert any("kernel_2<img src=x onerror=alert(1)>\\u001b[31m" in text for text in reader.texts)
    assert {"rank", "instance", "status"} <= set(reader.texts)


def test_print_shows_the_ranking(results, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    text = str(Results(results))
    assert text.index("kernel_2") < text.index("kernel_1")
    assert "Best configuration parameters:" in text and "\x1b" not in text
    rows = [line for line in text.splitlines() if "kernel_" in line and "ms" not in line.split()]
    assert len(rows) >= 2 and max(map(len, rows)) <= 100, text
    assert repr(Results(results)) == f"<Results: {len(results.outcomes)} outcomes of 1 problem>"


def test_without_pandas_it_says_what_to_install(results, monkeypatch):
    real = builtins.__import__

    def without(name, *arguments, **named):
        if name == "pandas":
            raise ImportError("No module named 'pandas'")
        return real(name, *arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install 'ckprof\[pandas\]'; .*to_dicts"):
        Results(results).to_pandas()


def test_frames_without_rows_have_their_columns():
    pytest.importorskip("pandas")
    assert list(data_frame([], ["a", "b"]).columns) == ["a", "b"]
