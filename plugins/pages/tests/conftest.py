"""Fixtures that the tests of reports have."""

from __future__ import annotations

from tests.report.conftest import results

__all__ = ["results"]
