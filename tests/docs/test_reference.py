"""The page of commands and settings, as the site is built."""

import importlib.util
from dataclasses import fields

from ckprof.settings import Settings
from tests.docs.blocks import ROOT


def build_hooks():
    spec = importlib.util.spec_from_file_location("build_hooks", ROOT / "docs" / "build_hooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_setting_is_on_the_page_and_in_the_readme(monkeypatch):
    hooks = build_hooks()
    monkeypatch.setattr(hooks, "_section", lambda name, first: f"## ckprof {name}")
    page = hooks.on_page_markdown((ROOT / "docs" / "reference" / "commands.md").read_text())
    assert "{{" not in page and "## ckprof run\n" in page
    readme = (ROOT / "README.md").read_text().split("## Settings")[1].split("## ")[0]
    for setting in fields(Settings):
        assert f"\n| `{setting.name}` | " in page
        assert f"`{setting.name}`" in readme
    text = "seconds that one kernel's compilation may take, without waiting for a CPU"
    assert f"| {text} | 300 |" in page


def test_a_command_is_shown_as_it_prints_its_help():
    section = build_hooks()._section("doctor")
    assert section.startswith("## ckprof doctor\n\n```text\nusage: ckprof doctor")
    assert section.endswith("\n```")


def test_links_between_pages_hold_on_the_site():
    links = build_hooks().links_of_the_site
    package = ROOT / "plugins" / "consumers" / "docs" / "consumers.md"
    core = ROOT / "docs" / "run.md"
    reference = ROOT / "docs" / "reference" / "commands.md"
    assert links("see [run](../../../docs/run.md#x)", package) == "see [run](run.md#x)"
    assert links("see [run](../run.md), [site](https://x.org/a.md)", reference) == (
        "see [run](../run.md), [site](https://x.org/a.md)"
    )
    assert links("see [more](../plugins/none/docs/none.md#x), [code](../README.md)", core) == (
        "see more, [code](../README.md)"
    )
