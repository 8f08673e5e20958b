"""Many cases in one test: all of them are tried, and the failure names each that fails."""

import inspect
from contextlib import contextmanager
from functools import wraps

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


def each(**values):
    """Try a test with each of the values of one of its parameters; other parameters are fixtures.

    >>> @each(name=NAMES)
    ... def test_names_are_lower(name): ...
    """
    ((parameter, chosen),) = values.items()

    def looped(test):
        @wraps(test)
        def all_of_them(**fixtures):
            with Cases() as cases:
                for value in chosen:
                    with cases.case(ascii(value)[-60:]):  # where paths differ
                        test(**fixtures, **{parameter: value})

        signature = inspect.signature(test)
        others = [one for name, one in signature.parameters.items() if name != parameter]
        all_of_them.__signature__ = signature.replace(parameters=others)
        return all_of_them

    return looped
