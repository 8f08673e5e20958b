"""Objects that fulfil their contracts and do nothing."""

from __future__ import annotations


class StubPipeline:
    """A pipeline that claims all records, or none."""

    label = "stub"
    directions = frozenset({"fwd"})

    def __init__(self, id_, claims=False):
        self.id = id_
        self._claims = claims

    def claims(self, variant, record):
        return self._claims

    def make_instance(self, catalog, direction, record): ...

    def kernel_name(self, instance): ...

    def instance_string(self, instance): ...

    def unmet_requirements(self, instance, arch, api_level): ...

    def default_problem(self, instance, usual): ...

    def render(self, instance, arch, api_level): ...


class StubRuleSet:
    """A rule set without kernels."""

    label = "stub"

    def __init__(self, id_):
        self.id = id_

    def enumerate(self, request):
        return []


class StubConverter:
    """A converter that recognises nothing and remembers the families that it was given."""

    id = "lines"
    label = "stub"
    families = ()

    def recognises(self, request):
        return False

    def convert(self, request): ...

    def use_families(self, families):
        self.families = families
