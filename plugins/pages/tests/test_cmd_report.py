"""``ckprof report`` on stores."""

import sys

import pytest

import ckprof as library
from ckprof import hookimpl
from ckprof.cli.main import main
from ckprof.store.writer import StoreWriter
from ckprof.testing import check_contract
from ckprof_plugins import pages
from ckprof_plugins.pages.formats import STORE_REPORT_FORMATS, StoreReportFormat
from tests.cli.test_cmd_compare import stores
from tests.cli.test_cmd_results import checked_and_lost
from tests.measured import Made, attempts

__all__ = ["stores"]

PLUGIN = """
from ckprof import hookimpl
from ckprof_plugins.pages.formats import StoreReportFormat


def render(content):
    if len(content.best) > 3:
        return 3
    return f"{len(content.best)} best" if content.options.title != "bad" else 1 / 0


@hookimpl
def ckprof_register(registry):
    registry.add(StoreReportFormat(id="n", label="a number", suffix=".n", render=render))
"""


@pytest.mark.parametrize(
    "wrong", [("--format", "pdf"), ("-o", "x.pdf"), ("--ceiling", "high"), ("--tie", "2")]
)
def test_wrong_calls(ckprof, tmp_path, wrong):
    ckprof("report", "a.db", *wrong).fails_with(2)


def test_inputs_that_are_no_stores(ckprof, tmp_path):
    (tmp_path / "text.db").write_text("hello")
    for name in ("no.db", "text.db"):
        called = ckprof("report", name)
        assert (called.code, called.out) == (3, "")
        assert name in called.err


def test_a_report(ckprof, stores, tmp_path):
    called = ckprof("report", stores / "old.db", "-o", "report.html", "--ceiling", "measured=100,50").ok()
    assert "report.html: 3 problems, 4 instances" in called.err
    page = (tmp_path / "report.html").read_text()
    assert "measured ceiling" in page
    assert "Comparison" not in page


def test_a_report_of_two_stores(ckprof, stores, tmp_path):
    assert ckprof("report", stores / "old.db", stores / "slow.db", "-o", "report.html").code == 0
    page = (tmp_path / "report.html").read_text()
    assert '<h2 id="comparison-h">Comparison</h2>' in page


def test_markdown(ckprof, stores):
    called = ckprof("report", stores / "old.db", "--format", "md", "--title", "Nightly")
    assert called.out.startswith("## Nightly")


def test_a_terminal_gets_no_page(stores, monkeypatch, capsys):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(["report", str(stores / "old.db")]) == 2
    assert "write it with -o FILE.html, or add --format md" in capsys.readouterr().err
    assert main(["report", str(stores / "old.db"), "--format", "md"]) == 0
    assert capsys.readouterr().out.startswith("## ")


def test_a_report_in_no_folder(ckprof, stores, tmp_path):
    (tmp_path / "file").write_text("")
    called = ckprof("report", stores / "old.db", "-o", "file/report.html")
    assert called.code == 3


def test_the_share_of_checked_launches_and_kernels_beside_lost_devices_are_shown(ckprof, tmp_path):
    lost = checked_and_lost(tmp_path / "results.db")
    page = ckprof("report", "results.db", "--format", "md").out
    assert "1 ok, 1 not measured: the device failed" in page and "run_error" not in page
    assert f"{lost} (2 times)" in page and "190 of 200 launches (95 %)" in page


def test_the_library_does_the_same(stores):
    content = pages.report(library.Profiler(), stores / "old.db", options=pages.ReportOptions(title="Mine"))
    assert "<h1>Mine</h1>" in pages.render_html(content)
    assert pages.render_markdown(content).startswith("## Mine")


def test_plugins_add_formats(ckprof, tmp_path):
    (tmp_path / "mine.py").write_text(PLUGIN)
    with StoreWriter(tmp_path / "a.db") as writer:
        writer.append_many(attempts(Made(rounds=4)))
    called = ckprof("report", "a.db", "--plugin", "mine.py", "-o", "x.n")
    assert (called.code, (tmp_path / "x.n").read_text()) == (0, "3 best")
    assert "n: a number; png:" in " ".join(ckprof("report", "--plugin", "mine.py", "--help").out.split())
    (tmp_path / "x.n").unlink()
    called = ckprof("report", "a.db", "--plugin", "mine.py", "-o", "x.n", "--title", "bad")
    called.fails_with(4, "plugin mine.py: store report format 'n': render raised ZeroDivisionError")
    assert not (tmp_path / "x.n").exists()


def test_two_formats_with_the_same_id_are_an_error(ckprof, tmp_path):
    (tmp_path / "mine.py").write_text(PLUGIN.replace('id="n"', 'id="md"'))
    ckprof("report", "a.db", "--plugin", "mine.py").fails_with(
        4, "two plugins provide the store report format 'md'"
    )


@pytest.mark.compiler
@pytest.mark.thorough
def test_formats_are_tried_out():
    def plugin_of(render):
        item = StoreReportFormat(id="mine", label="l", suffix=".x", render=render)
        hook = hookimpl(lambda self, registry: registry.add(item), specname="ckprof_register")
        return type("Mine", (), {"ckprof_register": hook})()

    listed = "forward/tests/nhwgc_fp16.conf"
    checks = check_contract(plugin_of(lambda content: "text"), listed)
    assert any(one.what == f"{STORE_REPORT_FORMATS.name} 'mine'" for one in checks)
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        check_contract(plugin_of(lambda content: 1 / 0), listed)
