"""The device vendor's library, as torch calls it: cuDNN, MIOpen, or oneDNN on the CPU."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

INSTALL_COMMAND: Final = "pip install 'ckprof[torch]'"


class TorchBaseline:
    """Announces the baseline; torch itself is imported by its worker alone."""

    #: what users type with ``--baseline``
    id = "torch"
    #: a few words for tables and help texts
    label = "the vendor's library through torch: cuDNN, MIOpen, oneDNN"
    #: what makes the engine
    entry = "ckprof_plugins.baselines.torch_engine:make_engine"

    def missing(self) -> str:
        """Return that torch is not installed, or nothing."""
        if find_spec("torch") is None:
            return (
                f'torch is not installed; "{INSTALL_COMMAND}" installs it; for a GPU choose the build '
                "for its vendor, see pytorch.org"
            )
        return ""
