"""What users read of what happens while a command works."""

from __future__ import annotations

import io
from types import SimpleNamespace

from ckprof.cli.console import Console
from ckprof.cli.event_messages import EventMessages
from ckprof.kernels.events import BuildFinished
from ckprof.model.results import BuildSummary, IncompatibleKernels


def test_kernels_that_only_compile_apart_are_a_warning():
    apart = IncompatibleKernels(kernels=("one", "two"), reason="redefinition of 'Row'\nfull log: a.log")
    library = SimpleNamespace(
        built=["one", "two"],
        candidates=["one", "two"],
        rejected=[],
        summary=BuildSummary(compiled=2, incompatible=(apart,)),
    )
    err = io.StringIO()
    EventMessages(Console(out=io.StringIO(), err=err))(BuildFinished(library=library))
    printed = err.getvalue()
    assert "built 2 of 2 kernels: 2 compiled" in printed
    assert "warning: these 2 kernels compile, but not in one translation unit" in printed
    assert "one, two: redefinition of 'Row'" in printed and "full log: a.log" in printed
