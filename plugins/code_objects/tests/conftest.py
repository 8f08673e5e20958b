"""Commands are called as processes, as in the core's tests of whole commands."""

from tests.e2e.conftest import ckprof

__all__ = ["ckprof"]
