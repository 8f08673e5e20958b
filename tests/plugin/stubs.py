"""Objects that fulfil their contracts and do nothing, and registries of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ckprof.model.instance import Instance
from ckprof.model.types import DataType
from ckprof.plugin.manager import PluginManager
from ckprof.plugin.protocols import LibraryInterface
from ckprof.plugin.registry import Registry
from ckprof.testing.plugins import Registering
from ckprof_plugins.directions._convolution.layout import LAYOUTS
from tests.convolutions import convolution


class StubPipeline:
    """A pipeline of no instances."""

    label = "stub"
    directions = frozenset({"fwd"})

    def __init__(self, id_, **members):
        self.id = id_
        vars(self).update(members)

    def make_instance(self, catalog, direction, record): ...

    def kernel_name(self, instance): ...

    def instance_string(self, instance): ...

    def unmet_requirements(self, instance, arch, api_level): ...

    def default_problem(self, instance, usual): ...

    def render(self, instance, arch, api_level): ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StubProblem:
    """A problem of :class:`StubOperation`."""

    length: int


class StubOperation:
    """An operation with everything that one can have, which computes nothing."""

    id = "stub"
    label = "stub"
    aliases = ()
    default_problem: ClassVar = {
        1: convolution("1 1 1 1 1 1 1 1 1 0 0")
    }  # fmt: skip
    tensors = ("x", "y", "z")
    host_args_type = "StubArgs"
    problem_types = (StubProblem,)
    line_words = ("stub",)
    layouts = ()
    interface = LibraryInterface(library="stub", row="stub::row", entry="", headers=())

    def reduction_length(self, problem):
        return problem.length

    def reference(self, problem, layout, operands, types): ...

    def types(self, dtype): ...

    def tensors_of(self, problem):
        return self.tensors

    def deviation(self, problem, mean_squares):
        return 1.0

    def roundings(self, problem):
        return 1

    def is_exact(self, problem):
        return True

    def random_problem(self, draw, ndim): ...

    def parse_problem(self, line): ...

    line_forms = ("stub",)

    def problem_line(self, case, form): ...

    programs = ("stub",)

    def is_command(self, program, word):
        return False

    def is_table(self, lines):
        return False

    def read_table(self, lines, path, operations): ...

    sample_options = object

    def sample(self, spec): ...

    def contraction(self, problem): ...


class StubRuleSet:
    """A rule set without kernels."""

    label = "stub"

    def __init__(self, id_):
        self.id = id_

    def enumerate(self, request):
        return []


class StubObserver:
    """An observer that sees nothing."""

    def __init__(self, id_):
        self.id = id_

    def observe(self, target, device): ...


class StubConverter:
    """A converter that recognises nothing and remembers the families that it was given."""

    id = "lines"
    label = "stub"
    family_type = object
    families = ()

    def recognises(self, request):
        return False

    def convert(self, request): ...

    def use_families(self, families):
        self.families = families


class Making(StubPipeline):
    """A pipeline with instances."""

    def make_instance(self, catalog, direction, record):
        return Instance(id=record.id, direction=direction, ndim=2, layout=LAYOUTS[0], dtype=DataType.FP16)


def providing(*ids):
    """Return a plugin that provides pipelines with these ids."""
    return Registering(*map(Making, ids))


def registry_of(**plugins):
    manager = PluginManager()
    for name, plugin in plugins.items():
        manager.register(plugin, name)
    return Registry(manager).check_all()


@dataclass(frozen=True)
class Tool:
    """What a plugin knows and ckprof does not."""

    id: str
