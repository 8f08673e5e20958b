"""The table of commands: what help says of each, and where it is found. Modules are imported when called.

A package brings commands with a file ``COMMANDS.toml`` in its folder, which has a table for each command::

    [predict]          # cmd_predict.py: add_arguments(parser, session), run(arguments, session) -> ExitCode
    task = "choose"    # commands of one task stand together in help
    summary = "rank kernels by times that follow from their machine code, without a device"
    first = "DIRECTION --conf --problem"    # what --help shows, where that is not everything
    needs = ["emulator"]                    # feature packages that the command does not work without
    schemas = { "ckprof-prediction" = "predicted_times.VERSION: predict --format json" }   # constant: what
    module = "commands"                     # another module of the package, in place of cmd_predict

The core has such a file, and so have feature packages. Packages of others name each command as an entry point
of the group ``ckprof.commands``, too: ``NAME = "module:COMMAND"``. Without the file, help has the name alone.
"""

from __future__ import annotations

import importlib
import os
import sys
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final

from ckprof.errors import PluginError
from ckprof.plugin.hookspecs import COMMAND_NAME, DISABLE_VARIABLE
from ckprof.sanitize import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from importlib.metadata import Distribution

    from ckprof.cli.session import Session
    from ckprof.plugin.hookspecs import Command


TABLE: Final = "COMMANDS.toml"
GROUP: Final = "ckprof.commands"
#: in the order of help; those of other packages follow
TASKS: Final = (
    "profile",
    "measure at scale",
    "choose",
    "convert and prove",
    "use elsewhere",
    "build and embed",
    "look up",
)
#: of commands that name none
OTHER_TASK: Final = "further commands"
_CORE: Final = "ckprof"
_PACKAGES: Final = "ckprof_plugins"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedCommand:
    """What is known of a command before its module is imported."""

    name: str
    #: the core, a feature package, a distribution or a plugin
    owner: str
    #: ``module`` with both functions, or ``module:attribute`` that is a :class:`Command`
    place: str = ""
    task: str = OTHER_TASK
    summary: str = ""
    first: str = ""
    needs: tuple[str, ...] = ()
    #: name of a form of files -> constant with its version, and what it is of; see :func:`schemas`
    schemas: Mapping[str, str] = field(default_factory=dict)
    #: the command of a plugin that was imported
    command: Command | None = None
    #: why it cannot be used
    error: str = ""

    @property
    def is_built_in(self) -> bool:
        """Whether it ships with ckprof."""
        return self.owner.partition(".")[0] in (_CORE, _PACKAGES)

    @property
    def missing(self) -> str:
        """A package that it needs and that is not installed; empty if all are."""
        return next((name for name in self.needs if not find_spec(f"{_PACKAGES}.{name}")), "")

    def load(self, session: Session) -> Command:
        """Import the command.

        :raises PluginError: what it needs is not installed, or it is no command.
        """
        from ckprof.plugin.boundary import Boundary, guarded, shown
        from ckprof.plugin.hookspecs import Command

        if self.missing:
            raise PluginError(f"{self.name} needs the {self.missing} package, which is not installed")
        if self.error:
            raise PluginError(self.error)
        if self.command is not None:
            return self.command
        if self.is_built_in:
            return self._of_module(importlib.import_module(self.place.partition(":")[0]))
        boundary = Boundary(self.owner, f"command {self.name!r}", session.manager.culprit)
        with boundary:
            is_module = ":" not in self.place
            found: Any = resolve_name(f"{self.place}:" if is_module else self.place)
            command = self._of_module(found) if is_module else found
        if not isinstance(command, Command):
            raise boundary.wrong(f"{self.place} is {shown(command)}, expected Command")
        checked = guarded(command, boundary, Command)
        assert isinstance(checked, Command)  # noqa: S101 - a copy
        return replace(checked, name=self.name, first=self.first or checked.first)

    def _of_module(self, module: Any) -> Command:
        from ckprof.plugin.hookspecs import Command

        return Command(
            name=self.name,
            add_arguments=module.add_arguments,
            run=module.run,
            task=self.task,
            summary=self.summary,
            first=self.first,
        )


class CommandTable:
    """All commands by name, those of one task together."""

    def __init__(self, listed: Sequence[ListedCommand]) -> None:
        self._commands: dict[str, ListedCommand] = {}
        #: also those whose name another has
        self.all: list[ListedCommand] = []
        #: name -> what is wrong with it
        self.clashes: dict[str, str] = {}
        for command in listed:
            self._add(command)

    def __iter__(self) -> Iterator[ListedCommand]:
        tasks = list(dict.fromkeys((*TASKS, *(command.task for command in self._commands.values()))))
        return iter(sorted(self._commands.values(), key=lambda command: tasks.index(command.task)))

    def find(self, name: str | None) -> ListedCommand | None:
        """Return the command of that name; ``None`` if there is none.

        :raises PluginError: there are two.
        """
        if name in self.clashes:
            raise PluginError(self.clashes[name])
        return self._commands.get(name or "")

    def add_commands_of(self, session: Session, name: str | None, requested: Sequence[str]) -> None:
        """Add the commands of plugins that were imported.

        :param name: the command that is called.
        :param requested: the plugins that the command line names.
        :raises PluginError: one of these has a command of a name that there is already, or plugins are broken
            and the command may be theirs.
        """
        try:
            entries = session.registry.commands
        except PluginError:
            if name is None or name in self._commands:
                return  # a command that works with the registry says so itself
            raise
        for command in entries.registered:
            owner = entries.provider(command.name)
            listed = ListedCommand(
                name=command.name,
                owner=owner,
                task=one_line(command.task) or OTHER_TASK,
                summary=one_line(command.summary),
                first=command.first,
                command=command,
            )
            if not self._add(listed) and owner in requested:
                raise PluginError(self.clashes[command.name])

    def _add(self, command: ListedCommand) -> bool:
        """Add a command, or note that there is one of its name."""
        self.all.append(command)
        other = self._commands.setdefault(command.name, command)
        if other is not command:
            self.clashes[command.name] = (
                f"two plugins provide the command {command.name!r}: {other.owner} and {command.owner}; "
                f"disable one of them with {DISABLE_VARIABLE}"
            )
        return other is command


def command_table() -> CommandTable:
    """Return the commands of everything that is installed; nothing of it is imported.

    :raises PluginError: the file of a package that ships with ckprof is malformed.
    """
    disabled = {name.strip() for name in os.environ.get(DISABLE_VARIABLE, "").split(",")}
    commands = _of_folder(Path(__file__).parent, _CORE, "ckprof.cli")
    packages = importlib.import_module(_PACKAGES)
    for name in packages.FEATURE_PACKAGES:
        owner = f"{_PACKAGES}.{name}"
        commands += _of_folder(Path(packages.__path__[0]) / name, owner, owner)
    if _others_announce_commands():
        commands += _of_others()
    disabled.discard(_CORE)
    return CommandTable([one for one in commands if not disabled & {one.owner, f"{one.owner}.plugin"}])


def _of_folder(folder: Path, owner: str, package: str) -> list[ListedCommand]:
    """Return the commands of a package that ships with ckprof; none if it is not there."""
    path, commands = folder / TABLE, []
    try:
        for name, entry in _parsed(path.read_text(encoding="utf-8")).items():
            module = entry.pop("module", f"cmd_{name.replace('-', '_')}")
            commands.append(_listed(name, owner, f"{package}.{module}", entry))
    except OSError:
        return []
    except (ValueError, AttributeError, TypeError) as exc:
        raise PluginError(f"{path}: {exc}") from exc
    return commands


def _parsed(text: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    values: dict[str, Any] = tomllib.loads(text)
    return values


def _listed(name: str, owner: str, place: str, entry: Mapping[str, Any]) -> ListedCommand:
    """Return a command with what its table says."""
    texts = {key: value for key, value in entry.items() if key in ("task", "summary", "first")}
    needs, schemas = entry.get("needs", []), entry.get("schemas", {})
    wrong = entry.keys() - texts.keys() - {"needs", "schemas"}
    if wrong or not isinstance(needs, list) or not isinstance(schemas, dict):
        raise ValueError(f"[{name}]: expected texts task, summary, first, a list needs and a table schemas")
    if not all(isinstance(text, str) for text in (*texts.values(), *needs, *schemas.values())):
        raise ValueError(f"[{name}]: expected texts")
    return ListedCommand(
        name=name,
        owner=owner,
        place=place,
        needs=tuple(needs),
        schemas=schemas,
        task=one_line(texts.get("task", OTHER_TASK)),
        summary=one_line(texts.get("summary", "")),
        first=texts.get("first", ""),
    )


def _others_announce_commands() -> bool:
    """Say whether a distribution has entry points of the group.

    ``importlib.metadata`` knows, but importing it takes longer than printing help does.
    """
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")  # noqa: PTH208 - a path is made for each otherwise
        except NotADirectoryError:
            return True  # an archive of packages
        except OSError:
            continue
        for name in names:
            if name.endswith((".dist-info", ".egg-info")):
                try:
                    text = Path(folder, name, "entry_points.txt").read_text(encoding="utf-8")
                except (OSError, ValueError):
                    continue
                if f"[{GROUP}]" in text:
                    return True
    return False


def _of_others() -> list[ListedCommand]:
    from importlib.metadata import entry_points

    commands = []
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        owner = point.dist.name if point.dist else point.value
        listed = ListedCommand(name=one_line(point.name), owner=owner, place=point.value)
        try:
            if not COMMAND_NAME.fullmatch(point.name):
                raise ValueError(f"{point.name!r} is not a name of a command")
            entry = _table_of(point.dist, point.module).get(point.name, {}) if point.dist else {}
            listed = _listed(point.name, owner, point.value, entry)
        # whatever is wrong with the file of a package must not end other commands
        except (OSError, ValueError, AttributeError, TypeError) as exc:
            listed = replace(listed, error=f"plugin {owner}: {TABLE}: {exc}")
        commands.append(listed)
    return commands


def _table_of(distribution: Distribution, module: str) -> dict[str, Any]:
    """Return what the ``COMMANDS.toml`` of a distribution says; empty if it has none."""
    files = [Path(str(file.locate())) for file in distribution.files or () if file.name == TABLE]
    if not files:
        # one that is installed as editable has no files of its own
        top, *rest = module.split(".")
        spec = find_spec(top)
        folders = [Path(folder) for folder in (spec and spec.submodule_search_locations) or ()]
        files = [folder.joinpath(*part, TABLE) for folder in folders for part in (rest, rest[:-1])]
    found = next((file for file in files if file.is_file()), None)
    return _parsed(found.read_text(encoding="utf-8")) if found else {}


def schemas() -> list[tuple[str, str, str]]:
    """Return the forms of files that the tables of the core's and of packages' commands name.

    :returns: what files of a form call it, a few words where they have no name in them; the module and the
        constant that hold its version; and who writes and reads it.
    """
    return [
        (name, ":".join(f"{command.owner}.{place}".rsplit(".", 1)), what)
        for command in command_table()
        for name, (place, _, what) in ((name, text.partition(": ")) for name, text in command.schemas.items())
    ]


def version_of(place: str) -> int | str:
    """Return the version that this ckprof writes.

    :param place: module and constant.
    """
    version: int | str = resolve_name(place)
    return version


def schema_lines() -> str:
    """Return a line per schema: name, version, what it is of."""
    found = schemas()
    width = max(len(name) for name, _, _ in found)
    return "\n".join(f"{name:<{width}}  {version_of(place)!s:>3}  {what}" for name, place, what in found)
