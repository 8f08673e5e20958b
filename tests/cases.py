"""Many cases in one test: all of them are tried, and the failure names each that fails."""

from __future__ import annotations

from contextlib import contextmanager

import pytest


class Cases:
    """Collects what fails; as a context it ends with the failures, or where there was no case.

    >>> with Cases() as cases:
    ...     for name in names:
    ...         with cases.case(name):
    ...             assert name.islower()
    """

    def __init__(self):
        self.count = 0
        self._failed = []

    @contextmanager
    def case(self, *names):
        """Try one case, whose names are shown where it fails."""
        self.count += 1
        try:
            yield
        except (Exception, pytest.fail.Exception) as exc:
            self._failed.append(f"{' '.join(map(str, names))}: {type(exc).__name__}: {exc}")

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if error is None and self._failed:
            pytest.fail(f"{len(self._failed)} of {self.count} cases:\n\n" + "\n\n".join(self._failed))
        if error is None and not self.count:
            pytest.fail("no case")
