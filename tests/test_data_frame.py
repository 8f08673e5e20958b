"""Frames of pandas, and what is said where it is not installed."""

import sys

import pytest

from ckprof.data_frame import data_frame

RECORDS = [{"name": "a", "ms": 1.5}, {"name": "b", "ms": None}]


def test_records_become_rows_also_where_there_are_none():
    pytest.importorskip("pandas")
    frame = data_frame(iter(RECORDS))
    assert list(frame.columns) == ["name", "ms"] and list(frame["name"]) == ["a", "b"]
    assert frame.loc[0, "ms"] == 1.5 and frame["ms"].isna().tolist() == [False, True]
    empty = data_frame([], ["name", "ms"])
    assert list(empty.columns) == ["name", "ms"] and len(empty) == 0


def test_without_pandas_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install 'ckprof\[pandas\]'; nothing is lost, to_dicts\(\)"):
        data_frame(RECORDS)
