"""Commands are called as processes, as in the tests of whole commands."""

from tests.e2e.conftest import ckprof  # noqa: F401
