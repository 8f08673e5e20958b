"""What users read of what happens while a command works."""

from __future__ import annotations

import io
import re
from types import SimpleNamespace

from ckprof.cli.console import Console
from ckprof.cli.event_messages import EventMessages
from ckprof.kernels.library import build_messages
from ckprof.model.results import BuildSummary


def test_kernels_that_only_compile_apart_are_a_warning():
    apart = (tuple("abcde"), "redefinition of 'Row'\nfull log: a.log")
    library = SimpleNamespace(
        built=["one", "two"],
        candidates=["one", "two"],
        rejected=[],
        summary=BuildSummary(compiled=2, separated=(apart,)),
    )
    err = io.StringIO()
    listener = EventMessages(Console(out=io.StringIO(), err=err))
    for message in build_messages(library):
        listener(message)
    printed = err.getvalue()
    assert "built 2 of 2 kernels: 2 compiled" in printed
    assert "warning: these 5 kernels compile, but did not in one translation unit" in printed
    assert re.search(r": a, b, c and 2 more: redefinition of 'Row'\s+full log: a.log", printed)
