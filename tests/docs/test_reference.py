"""The page of commands and settings as the site is built, and the sections of protocols."""

import importlib.util
import inspect
import re
from dataclasses import fields

import pytest

from ckprof.plugin import protocols
from ckprof.plugin.members import members_of
from ckprof.settings import Settings
from tests.cases import each
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


PAGE = (ROOT / "docs" / "protocols.md").read_text()

PUBLIC = {
    name: value
    for name, value in vars(protocols).items()
    if inspect.isclass(value) and not name.startswith("_") and value.__module__.startswith(protocols.__name__)
}
PROTOCOLS = sorted(name for name, value in PUBLIC.items() if getattr(value, "_is_protocol", False))


def section(name):
    """Return the text below a heading of that name; empty if there is none."""
    found = re.search(rf"^### [^\n]*\b{name}\b[^\n]*\n(.*?)(?=^##|\Z)", PAGE, re.M | re.S)
    return found[1] if found else ""


def test_the_modules_have_protocols():
    assert {"Operation", "Pipeline", "Target"} <= set(PROTOCOLS)
    assert {"KernelSource", "ReportFormat", "TimedKernel"} <= PUBLIC.keys() - set(PROTOCOLS)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_protocol_has_a_section_with_its_members(name):
    text = section(name)
    missing = [one.name for one in members_of(PUBLIC[name]) if not re.search(rf"`{one.name}\b", text)]
    assert text and not missing


@each(name=sorted(PUBLIC))
def test_a_public_class_is_named(name):
    assert f"`{name}`" in PAGE or section(name)
