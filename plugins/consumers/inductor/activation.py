"""Puts ckprof's kernels in the place where torch looks for AMD's package ``ck4inductor``."""

from __future__ import annotations

import importlib.util
import logging
import os
import sys
from contextlib import ExitStack
from functools import wraps
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from ckprof.errors import InputError, PluginError, ToolchainError, UsageError
from ckprof_plugins.consumers.inductor.operations import (
    CKBatchedGemmOperation,
    CKGemmOperation,
    CKGroupedConvFwdOp,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ckprof_plugins.consumers.inductor.provider import Provider

_log: Final = logging.getLogger(__name__)
#: the package that torch imports
PACKAGE: Final = "ck4inductor"
_TEMPLATES: Final = (
    ("torch._inductor.codegen.rocm.ck_conv_template", "CKGroupedConvFwdTemplate"),
    ("torch._inductor.codegen.rocm.ck_universal_gemm_template", "CKGemmTemplate"),
)
#: what the root of headers has for certain
_HEADER: Final = "include/ck/ck.hpp"
#: what CMake writes; a tree that was never configured lacks it, as does AMD's package
_CONFIGURED: Final = "include/ck/config.h"


class Activation:
    """What was put in place; :meth:`undo` restores what was there."""

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        self._undoing = ExitStack()

    def undo(self) -> None:
        """Restore modules and methods, the last one first."""
        self._undoing.close()


def activate(
    *,
    models: Sequence[Path | str] = (),
    lists: Sequence[str] = ("forward/profiler",),
    headers: Path | str | None = None,
    arch: str = "",
) -> Activation:
    """Have torch's Inductor choose among ckprof's kernels, best first.

    Call it before the first compilation: torch binds the functions when it imports its templates.

    :param models: files of ``ckprof train``, one per operation and type.
    :param lists: see :class:`~ckprof_plugins.consumers.inductor.provider.Provider`.
    :param headers: see there; by default the folder of AMD's package if it is installed, else ``$CK_ROOT``.
    :param arch: architecture that kernels are chosen for; by default that of the models.
    :raises ToolchainError: torch is not installed, or has no templates for Composable Kernel.
    :raises PluginError: the package that ranks kernels by time models is not installed.
    :raises UsageError: torch has already taken another package.
    :raises InputError: there are no headers, or a model or a list cannot be read.
    """
    import ckprof

    if importlib.util.find_spec("torch") is None:
        raise ToolchainError("torch is not installed: pip install 'ckprof[inductor]'")
    taken = [name for name, _ in _TEMPLATES if name in sys.modules]
    if taken:
        raise UsageError(
            f"torch has imported {taken[0]} already: call activate() before the first compilation"
        )
    if importlib.util.find_spec("ckprof_plugins.tuning") is None:
        raise PluginError("kernels for Inductor need the tuning package, which is not installed")
    from ckprof_plugins.consumers.inductor.provider import Provider

    provider = Provider(
        ckprof.Profiler().registry,
        headers=headers_root(Path(headers) if headers is not None else None),
        models=[Path(path) for path in models],
        lists=lists,
        arch=arch,
    )
    activation = Activation(provider)
    try:
        _install(activation, modules_of(provider))
        _wrap_templates(activation)
    except BaseException:
        activation.undo()
        raise
    return activation


def headers_root(named: Path | None) -> Path:
    """Return the folder whose ``include`` and ``library`` torch compiles against.

    :raises InputError: it has no headers, or none was named and none is known.
    """
    root = named if named is not None else _known_root()
    if root is None:
        raise InputError(
            "no headers of Composable Kernel are known: pass headers=, set CK_ROOT, or install AMD's package"
        )
    if not (root / _HEADER).is_file():
        raise InputError(f"has no {_HEADER}: expected a source tree, or the folder of AMD's package", root)
    if not (root / _CONFIGURED).is_file():
        _log.warning(
            "%s has no %s, which CMake writes: kernels compile only where ROCm's include folder has it",
            root,
            _CONFIGURED,
        )
    return root


def _known_root() -> Path | None:
    spec = importlib.util.find_spec(PACKAGE) if PACKAGE not in sys.modules else sys.modules[PACKAGE].__spec__
    if spec is not None and spec.origin:
        return Path(spec.origin).parent
    root = os.environ.get("CK_ROOT", "")
    return Path(root) if root else None


def modules_of(provider: Provider) -> Mapping[str, ModuleType]:
    """Return the modules of the package, by their names."""
    contents: dict[str, dict[str, Any]] = {
        "": {},
        "util": {"library_path": provider.library_path},
        "grouped_conv_fwd": {},
        "grouped_conv_fwd.op": {"CKGroupedConvFwdOp": CKGroupedConvFwdOp},
        "grouped_conv_fwd.gen_instances": {"gen_conv_ops_library": provider.gen_conv_ops_library},
        "universal_gemm": {},
        "universal_gemm.op": {"CKGemmOperation": CKGemmOperation},
        "universal_gemm.gen_instances": {
            "gen_ops_library": provider.gen_ops_library,
            "gen_ops_preselected": provider.gen_ops_preselected,
        },
        "batched_universal_gemm": {},
        "batched_universal_gemm.op": {"CKBatchedGemmOperation": CKBatchedGemmOperation},
        "batched_universal_gemm.gen_instances": {"gen_ops_library": provider.gen_batched_ops_library},
    }
    modules: dict[str, ModuleType] = {}
    for name, attributes in contents.items():
        module = ModuleType(f"{PACKAGE}.{name}" if name else PACKAGE, "Offered by ckprof.")
        # torch takes the folder of this file for that of the headers
        module.__file__ = str(provider.headers / "__init__.py")
        module.__path__ = []
        vars(module).update(attributes)
        parent, _, last = module.__name__.rpartition(".")
        if parent:
            setattr(modules[parent], last, module)
        modules[module.__name__] = module
    return modules


def _install(activation: Activation, modules: Mapping[str, ModuleType]) -> None:
    before = {name: module for name, module in sys.modules.items() if name.split(".")[0] == PACKAGE}
    for name in before:
        del sys.modules[name]
    sys.modules.update(modules)

    def restore() -> None:
        for name in modules:
            sys.modules.pop(name, None)
        sys.modules.update(before)

    activation._undoing.callback(restore)


def _wrap_templates(activation: Activation) -> None:
    """Have each template's ``gen_ops`` say for what it chooses."""
    for module_name, class_name in _TEMPLATES:
        try:
            template = getattr(importlib.import_module(module_name), class_name)
            original = template.gen_ops
        except (ImportError, AttributeError) as exc:
            raise ToolchainError(f"this torch has no templates for Composable Kernel: {exc}") from None
        activation._undoing.callback(sys.modules.pop, module_name, None)
        activation._undoing.callback(setattr, template, "gen_ops", original)
        template.gen_ops = _choosing(activation.provider, original)


def _choosing(provider: Provider, original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @wraps(original)
    def gen_ops(template: Any) -> Any:
        from torch._inductor import config

        from ckprof_plugins.consumers.inductor.provider import choice_of

        with provider.choosing(choice_of(template, config)):
            return original(template)

    return gen_ops
