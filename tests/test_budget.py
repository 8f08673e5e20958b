"""No package is larger than ``.ci/budget.toml`` allows."""

import pytest

from tests.places import ci_script


@pytest.fixture(scope="module")
def budget():
    return ci_script("budget")


def test_every_package_is_within_its_budget(budget):
    assert budget.excesses(budget.counted()) == []


def test_lines_of_code_have_neither_comments_nor_docstrings(budget):
    text = (
        '"""One."""\n\n# two\nx = 3  # three\n\n\ndef f():\n    """Four."""\n    return (\n        5\n    )\n'
    )
    assert budget.code_lines(text, budget.ast.parse(text)) == 5


def test_records_are_found_through_their_bases(budget, tmp_path, monkeypatch):
    (tmp_path / "ckprof").mkdir()
    (tmp_path / "ckprof" / "a.py").write_text(
        "@dataclass(frozen=True)\nclass A: pass\nclass B(msgspec.Struct): pass\n"
        "class C(B): pass\nclass D: pass\n"
    )
    monkeypatch.setattr(budget, "ROOT", tmp_path)
    assert budget.counted()["ckprof"]["records"] == 3


def test_what_is_above_its_limit_is_named(budget, monkeypatch):
    monkeypatch.setattr(budget, "limits", lambda: {"ckprof": {"code": 1, "records": 1}})
    found = {"ckprof": budget.Counter(code=2, records=1), "plugins": budget.Counter(code=9)}
    assert budget.excesses(found) == ["ckprof: 2 code, limit 1"]
