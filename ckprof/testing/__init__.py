"""What the tests of a plugin need.

:mod:`ckprof.testing.plugins` makes registries and profilers with a plugin, without installing it;
:mod:`ckprof.testing.fixtures` has the same as pytest fixtures: name it in ``pytest_plugins``.
"""

from __future__ import annotations

from ckprof.testing.plugins import check_contract, registry_with, run_instance, write_list

__all__ = ["check_contract", "registry_with", "run_instance", "write_list"]
