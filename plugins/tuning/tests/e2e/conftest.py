"""Commands are called as processes, as in the core's tests of whole commands."""

from tests.e2e.conftest import ckprof
from tests.e2e.test_terminal import shown

__all__ = ["ckprof", "shown"]
