"""Every protocol for plugins has its section in the documents, with what it is for and all of its members."""

import inspect
import re

import pytest

from ckprof.plugin import protocols
from ckprof.plugin.members import members_of
from tests.cases import each
from tests.docs.blocks import ROOT

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
