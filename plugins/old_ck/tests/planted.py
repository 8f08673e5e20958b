"""Kernels whose sources are changed on purpose, as a new kernel may differ from the old one."""

from dataclasses import replace


class Planted:
    """A kernel family whose headers have a text replaced; everything else is that of the family."""

    def __init__(self, family, before, after):
        self._family, self._before, self._after = family, before, after

    def __getattr__(self, name):
        return getattr(self._family, name)

    def render(self, instance, arch, api_level):
        return self._planted(self._family.render(instance, arch, api_level))

    def render_named(self, instance, name, arch, api_level):
        return self._planted(self._family.render_named(instance, name, arch, api_level))

    def _planted(self, source):
        assert self._before in source.header, self._before
        return replace(source, header=source.header.replace(self._before, self._after))


def planted(candidate, before, after):
    """Return a kernel with a text of its header replaced."""
    return replace(candidate, pipeline=Planted(candidate.pipeline, before, after))
