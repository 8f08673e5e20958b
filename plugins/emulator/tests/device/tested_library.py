"""The emulated device that tests load: as users have it, or with a sanitizer in it."""

import os
import shlex
from functools import cache

from ckprof_plugins.emulator.library import emulator_library

#: flags of a sanitizer, for the processes that its tests start
FLAGS = "CKPROF_TESTED_EMULATOR_FLAGS"


@cache
def emulator_under_test():
    """Return the library, compiled where it is not yet."""
    return emulator_library(tuple(shlex.split(os.environ.get(FLAGS, ""))))
