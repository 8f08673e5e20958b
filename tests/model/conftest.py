"""The small run that reports are tested with."""

from __future__ import annotations

from tests.report.conftest import results  # noqa: F401 - a fixture
