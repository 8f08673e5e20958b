"""Fixtures that the tests of reports have."""

from tests.report.conftest import results

__all__ = ["results"]
