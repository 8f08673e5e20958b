"""Consumers of plugins that misbehave: every member by itself, and what commands say of it."""

import pytest

from ckprof_plugins.consumers.records import FileAudit
from tests.plugin.hostile import Case
from tests.plugin.hostile_kind import *  # noqa: F403 - tests, and the fixture "command"

pytestmark = pytest.mark.thorough


class MyConsumer:
    id, label = "mine", "mine"

    def owns(self, path, head):
        return head.startswith(b"mine")

    def audit(self, request):
        return FileAudit(path=request.path, label="mine", entries=1)

    def cleaned(self, audit):
        return b""


@pytest.fixture(params=["owns", "audit"])
def case(request):
    return Case(kind="consumer", make=MyConsumer, member=request.param, command=("audit", "mine.txt"))
