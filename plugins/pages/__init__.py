"""Pages: reports of stores as HTML, Markdown and images, profiles of kernels, and what notebooks show.

>>> from ckprof_plugins.pages import ReportOptions, render_html, report
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ckprof_plugins.pages.content import report
    from ckprof_plugins.pages.image import render_png
    from ckprof_plugins.pages.markdown import render_markdown
    from ckprof_plugins.pages.options import ReportOptions
    from ckprof_plugins.pages.page import render_html

__all__ = ["ReportOptions", "render_html", "render_markdown", "render_png", "report"]

#: names for programs -> the module that has them, imported on first use
_LAZY = {
    "ReportOptions": "options",
    "render_html": "page",
    "render_markdown": "markdown",
    "render_png": "image",
    "report": "content",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)
