"""The only import that a plugin needs to declare its hooks.

A plugin is a module, or an object, with functions marked by :data:`hookimpl`::

    from ckprof import hookimpl

    @hookimpl
    def ckprof_register(registry):
        registry.add(MyPipeline())

An installed package announces it in the entry point group ``ckprof``; a loose file is named with
``--plugin path/to/file.py`` or in ``ckprof.toml``.
"""

from __future__ import annotations

import re
from typing import Final

import pluggy

#: project name of the hooks and name of the entry point group
NAME: Final = "ckprof"
#: comma-separated names of plugins that are not loaded
DISABLE_VARIABLE: Final = "CKPROF_DISABLE_PLUGINS"
#: what commands may be called
COMMAND_NAME: Final = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")

hookspec: Final = pluggy.HookspecMarker(NAME)
hookimpl: Final = pluggy.HookimplMarker(NAME)
