"""One list of the reasons for which lines are dropped: complete, documented, used everywhere."""

import re
from pathlib import Path

import pytest

from ckprof_converters.conf_family import ConfFamily
from ckprof_converters.drop_rules import ANNOUNCED, MEANINGS, DropRule, dropped_by, rule_of_other_text
from tests.cases import each

ROOT = Path(__file__).parents[2]
SOURCES = [path for path in (ROOT / "converters").glob("*.py") if path.name != "drop_rules.py"]


def test_every_rule_has_a_meaning_of_its_own():
    assert set(MEANINGS) == set(DropRule)
    assert len(set(MEANINGS.values())) == len(DropRule)
    assert {rule.value for rule in DropRule} > ANNOUNCED
    assert ConfFamily.__dataclass_fields__["rejection_rule"].default in ANNOUNCED


@pytest.mark.parametrize("rule", DropRule)
def test_every_rule_is_documented(rule):
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    shown = "--lenient" if rule is DropRule.ERROR else f"`{rule.value}`"
    assert any(shown in page.read_text() for page in pages)


@each(path=SOURCES)
def test_no_other_module_spells_a_rule(path):
    text = path.read_text()
    for rule in DropRule:
        if "-" in rule.value:
            # the steps of families have names, too, one of which is also that of its rule
            spelled = re.findall(rf'(?:rule=|dropped_by\()"{rule.value}"', text)
            assert not spelled, f"{path.name} spells {rule.value}"


@pytest.mark.parametrize(
    ("line", "log", "rule"),
    [
        ("  ", False, DropRule.BLANK),
        ("", True, DropRule.BLANK),
        ("# Name<1>", True, DropRule.COMMENT),
        ("// words", False, DropRule.COMMENT),
        ("Best Perf: 1 ms", True, DropRule.LOG_TEXT),
    ],
)
def test_lines_without_an_instance(line, log, rule):
    assert rule_of_other_text(line, log=log) is rule


def test_a_reason_may_be_left_out():
    assert dropped_by(DropRule.DUPLICATE).message == DropRule.DUPLICATE.meaning
    assert dropped_by(DropRule.DUPLICATE, "equal to line 3").message == "equal to line 3"
