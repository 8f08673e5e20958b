"""The fenced blocks of a document, and how each is marked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

#: what is read by users: the README, and the pages except those that are generated
DOCUMENTS = (
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "plugins").glob("*/docs/*.md")),
)

_BLOCK = re.compile(r"(?:<!-- (?P<mark>[^>]*) -->\n)?^```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.M | re.S)
_COMMAND = re.compile(r"^(?:\.venv/bin/)?(?:ckprof|python|pip|cmake|apt-get|mkdocs) ", re.M)


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    path: Path
    line: int
    kind: str
    text: str
    #: the comment in front of it, empty if there is none
    mark: str

    @property
    def has_commands(self):
        """Whether it shows commands of a shell."""
        return self.kind in ("", "sh") and _COMMAND.search(self.text) is not None

    @property
    def exit_codes(self):
        """Those that its last command may have: what it says of the machine may be either."""
        return {"exits with 1": (1,), "exits with 0 or 1": (0, 1)}.get(self.mark, (0,))

    @property
    def reason_not_run(self):
        """Why it is not run by tests; empty if it is."""
        return self.mark.removeprefix("not run: ") if self.mark.startswith("not run: ") else ""


def blocks(path):
    """Return the blocks of a document in order."""
    text = path.read_text()
    return [
        Block(
            path=path,
            line=text.count("\n", 0, match.start()) + 1,
            kind=match["kind"],
            text=match["text"],
            mark=match["mark"] or "",
        )
        for match in _BLOCK.finditer(text)
    ]
