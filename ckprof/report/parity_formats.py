"""The formats of comparisons of instance strings."""

from __future__ import annotations

from typing import Final

from ckprof.plugin.protocols import ParityFormat
from ckprof.report.parity_json import render_parity_json
from ckprof.report.parity_junit import render_parity_junit
from ckprof.report.parity_text import render_parity_markdown, render_parity_table

FORMATS: Final = [
    ParityFormat(id="json", label="everything, with schema and version", render=render_parity_json),
    ParityFormat(id="junit", label="one test case per instance", render=render_parity_junit),
    ParityFormat(id="md", label="for pull requests", render=render_parity_markdown),
    ParityFormat(id="table", label="for a terminal", render=render_parity_table),
]
