"""The process in which a candidate runs once as its users run it: nothing there says that it is judged.

Before that, the process is restricted as that of a candidate is. Then it becomes a program of a few lines
which knows nothing of the judge.
"""

from __future__ import annotations

import json
import os
import sys

from ckprof_plugins.judge.confine import confine


def main() -> None:
    """Become the program that the argument describes."""
    told = json.loads(sys.argv[1])
    confine(told["writable"], told["hidden"], told["shown"])
    os.chdir(told["folder"])
    os.execve(sys.executable, [sys.executable, told["program"]], told["environment"])  # noqa: S606


if __name__ == "__main__":
    main()
