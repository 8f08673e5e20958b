"""Modules under the names that they had before, for plugins that are older than the renaming.

Members of objects that were renamed are listed in :mod:`ckprof.plugin.contracts`.
"""

from __future__ import annotations

import importlib
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: former module -> its name now, and former name of something in it -> name now
FORMER_MODULES: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = MappingProxyType(
    {
        "ckprof.catalog.errors": ("ckprof.model.list_error", {}),
        "ckprof.codegen.environment": ("ckprof.codegen.jinja", {}),
        "ckprof.model.builder": ("ckprof.model.builder_list", {}),
        "ckprof.model.refusal": ("ckprof.model.requirement", {"Refusal": "UnmetRequirement"}),
        "ckprof.model.tour": (
            "ckprof.model.batch_results",
            {"Stop": "ListResult", "TourResults": "BatchResults"},
        ),
        "ckprof.model.work": ("ckprof.model.gemm_work", {}),
        "ckprof.strings.text": ("ckprof.strings.string_grammar", {}),
        "ckprof_converters.facts": ("ckprof_converters.properties", {}),
        "ckprof_converters.family": ("ckprof_converters.conf_family", {"LineFacts": "LineProperties"}),
        "ckprof_converters.grammar": ("ckprof_converters.conf_parser", {}),
    }
)


class _FormerModules(MetaPathFinder, Loader):
    """Finds and makes the modules of the table; the import system asks it last."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name in FORMER_MODULES else None

    def exec_module(self, module: ModuleType) -> None:
        current, renamed = FORMER_MODULES[module.__name__]
        content = vars(importlib.import_module(current))
        vars(module).update({name: value for name, value in content.items() if not name.startswith("__")})
        vars(module).update({former: content[now] for former, now in renamed.items()})


def accept_former_modules() -> None:
    """Let imports of former modules succeed from now on."""
    if not any(isinstance(finder, _FormerModules) for finder in sys.meta_path):
        sys.meta_path.append(_FormerModules())
