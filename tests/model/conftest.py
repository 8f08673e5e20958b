"""The small run that reports are tested with."""

from tests.report.conftest import results  # noqa: F401 - a fixture
