"""The emulated device that tests load: as users have it, or with a sanitizer in it."""

from __future__ import annotations

import os
import shlex
from functools import cache
from typing import TYPE_CHECKING, Final

from ckprof_plugins.emulator.library import emulator_library

if TYPE_CHECKING:
    from pathlib import Path

#: flags of a sanitizer, for the processes that its tests start
FLAGS: Final = "CKPROF_TESTED_EMULATOR_FLAGS"


@cache
def emulator_under_test() -> Path:
    """Return the library, compiled where it is not yet."""
    return emulator_library(tuple(shlex.split(os.environ.get(FLAGS, ""))))
