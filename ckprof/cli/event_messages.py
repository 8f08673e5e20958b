"""Says on standard error what the library does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.cli.convert_report import report_conversion
from ckprof.events import Level, Message, Progress, ProgressEnded, StatusLine
from ckprof.kernels.choose import ListRead

if TYPE_CHECKING:
    from ckprof.cli.console import Console
    from ckprof.events import Event


class EventMessages:
    """A listener that prints.

    :param console: where to.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        #: the step whose progress is shown; empty for none
        self._doing = ""

    def __call__(self, event: Event) -> None:
        """Print the messages and the progress among all events."""
        console = self._console
        with console.progress.lock:
            match event:
                case Message(text=text, level=Level.DETAIL):
                    console.detail(text)
                case Message(text=text, level=Level.WARNING):
                    console.warning(text)
                case Message(text=text):
                    console.info(text)
                case Progress():
                    self._progress(event)
                case ProgressEnded():
                    self._doing = ""
                    console.progress.end()
                case StatusLine():
                    console.progress.show(event.text, event.name)
                case ListRead():
                    report_conversion(event.conversion, console)

    def _progress(self, event: Progress) -> None:
        if event.what != self._doing:
            self._doing = event.what
            self._console.progress.begin(event.what, at_once=event.at_once)
        if event.done:
            self._console.progress.show_bar(
                event.what, event.done, event.total, event.name, eta_s=event.eta_s
            )
