"""The one Jinja2 environment in which all C++ is written.

Jinja2 is imported on first use: commands that write no C++ do not pay for it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment

#: Between the package and the file in a template's name.
_DELIMITER = ":"


def render(package: str, template: str, **values: object) -> str:
    """Return the text of a template filled with ``values``.

    :param package: import name of the package in whose folder ``templates`` the file lies. A template may
        include or extend others of its package by their file name, and those of another package as
        ``package:file``.
    :param template: file name, e.g. ``kernel.hpp.j2``.
    :raises jinja2.UndefinedError: the template names a value that was not given.
    """
    return _environment().get_template(f"{package}{_DELIMITER}{template}").render(values)


@lru_cache(maxsize=1)
def _environment() -> Environment:
    import jinja2

    class PackageLoaders(dict[str, jinja2.BaseLoader]):
        """Makes the loader of a package when one of its templates is first asked for."""

        def __missing__(self, package: str) -> jinja2.BaseLoader:
            loader = jinja2.PackageLoader(package)
            self[package] = loader
            return loader

    class PackageEnvironment(jinja2.Environment):
        """Resolves included templates relative to the package of the including one."""

        def join_path(self, template: str, parent: str) -> str:
            if _DELIMITER in template:
                return template
            return f"{parent.partition(_DELIMITER)[0]}{_DELIMITER}{template}"

    return PackageEnvironment(
        loader=jinja2.PrefixLoader(PackageLoaders(), delimiter=_DELIMITER),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
        cache_size=-1,
    )
