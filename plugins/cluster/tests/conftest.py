"""Commands are called as in the tests of whole commands."""

from __future__ import annotations

from tests.e2e.conftest import ckprof, forked_calls, short_list  # noqa: F401
