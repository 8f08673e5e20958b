"""An argument parser whose errors say what was probably meant, and completion of the line by the shell."""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from ckprof.errors import ExitCode, UsageError
from ckprof.sanitize import suggestion, unknown_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ckprof.cli.session import Session


#: how the names of instance lists end
_LIST_SUFFIXES = (".conf", ".json")
#: what is said to be expected where Python's own types cannot read a text
_EXPECTED: Final = {int: "an integer", float: "a number"}


class CommandParser(argparse.ArgumentParser):
    """Errors in one line, without the usage text in front; no guessing at cut-off option names."""

    #: what the short help shows, in this order; empty where help shows all that there is
    first: tuple[str, ...] = ()

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **options})
        #: parsers whose options this one takes as well, and so do its commands
        self.parents = options.get("parents", [])
        for name in (None, "store"):
            self.register("action", name, _StoreOnce)

    def parse_known_args(self, *given: Any, **named: Any) -> tuple[argparse.Namespace, list[str]]:  # type: ignore[override]
        """Parse as argparse does; an option with one value is typed once, one of others never."""
        #: options with one value that were typed
        self.typed: set[str] = set()
        of_others = {*(self.get_default("typed_instead") or ())} - {""}
        if typed := [word for word in given[0] if word.partition("=")[0] in of_others]:
            self.error(self._unknown_message(typed))
        return super().parse_known_args(*given, **named)

    def add_subparsers(self, **options: Any) -> Any:
        """Have commands take what their parser takes from its parents, such as ``--plugin``."""
        options["parser_class"] = partial(CommandParser, parents=self.parents)
        return super().add_subparsers(**options)

    def show_first(self, *names: str) -> None:
        """Have ``--help`` show common options, and ``--help-all`` the rest.

        :param names: options, and the metavars of positional arguments.
        """
        self.first = (*names, *self.first)
        self.add_argument("--help-all", action=_HelpAll, help="show every option, and exit")

    def format_help(self) -> str:
        """Return the help, the short one where there is one; its usage has three lines at most."""
        if self.first:
            return self._short_help()
        if self.format_usage().count("\n") > 3:
            self.usage = self._short_usage().replace("%", "%%")
        return super().format_help()

    def _short_usage(self) -> str:
        formatter = self._get_formatter()
        formatter.add_usage(None, [action for action in self._actions if not action.option_strings], [], "")
        return f"{' '.join(formatter.format_help().split())} [options]"

    def _short_help(self) -> str:
        named = {name: action for action in self._actions for name in _names(action)}
        shown = list(dict.fromkeys(named[name] for name in self.first))
        formatter = self._get_formatter()
        formatter.add_text(f"usage: {self._short_usage()}")
        formatter.add_text(self.description)
        formatter.start_section("common options")
        formatter.add_arguments(shown)
        formatter.end_section()
        hidden = {action for action in self._actions if action.help != argparse.SUPPRESS} - {*shown}
        formatter.add_text(f"{len(hidden) - 2} more options: '{self.prog} --help-all'")
        formatter.add_text(self.epilog)
        return formatter.format_help()

    def error(self, message: str) -> NoReturn:
        """Name the help of the command that was called.

        :raises UsageError: always.
        """
        raise UsageError(f"{message} (see '{self.prog} --help')")

    def parse_all(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Parse like ``parse_args``, but let the command that was called report what it does not know."""
        parsed, unknown = self.parse_known_args(arguments)
        if unknown:
            parser = self._called(parsed)
            parser.error(parser._unknown_message(unknown))
        return parsed

    def all_actions(self) -> Iterator[argparse.Action]:
        """Yield the options and arguments of this parser and of those of its commands."""
        for action in self._actions:
            yield action
            if isinstance(action, argparse._SubParsersAction):
                for inner in action.choices.values():
                    yield from inner.all_actions()

    def complete_help(self, names: Mapping[str, Callable[[], str]]) -> None:
        """Replace names in braces in the help of options."""
        for action in self.all_actions():
            for name, text in names.items():
                if f"{{{name}}}" in (action.help or ""):
                    action.help = str(action.help).replace(f"{{{name}}}", text().replace("%", "%%"))

    def _called(self, parsed: argparse.Namespace) -> CommandParser:
        """Return the innermost parser that the words of the command line lead to."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                inner = action.choices.get(str(getattr(parsed, action.dest, None)))
                if isinstance(inner, CommandParser):
                    return inner._called(parsed)
        return self

    def _unknown_message(self, unknown: Sequence[str]) -> str:
        """Say what is unknown; the default ``typed_instead`` has options of others, "" for words."""
        instead = self.get_default("typed_instead") or {}
        options = [word.partition("=")[0] for word in unknown if word.startswith("-")]
        if options:
            shown = [action for action in self._actions if action.help != argparse.SUPPRESS]
            known = [name for action in shown for name in action.option_strings if name.startswith("--")]
            hint = f"; {instead[options[0]]}" if options[0] in instead else suggestion(options[0], known)
            return f"unknown option {options[0]!r}{hint}"
        hint = instead.get("", "")
        if "--conf" in self._option_string_actions and looks_like_list(unknown[0]):
            hint = f"; lists are named with --conf: type --conf {unknown[0]}"
        return f"unexpected argument {unknown[0]!r}{hint}"

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """Read a value; what is wrong with it stands after the name of the option."""
        read = self._registry_get("type", action.type, action.type)
        try:
            return read(arg_string)
        except (UsageError, argparse.ArgumentTypeError) as exc:
            raise argparse.ArgumentError(action, str(exc)) from None
        except (TypeError, ValueError):
            expected = _EXPECTED.get(read) or getattr(read, "__name__", "another value")
            raise argparse.ArgumentError(action, f"expected {expected}, got {arg_string!r}") from None

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Check a command, or an option with a closed set of values."""
        if action.choices is not None and value not in action.choices:
            names = [str(choice) for choice in action.choices]
            if isinstance(action, argparse._SubParsersAction):
                self.error(unknown_name("command", str(value), names))
            message = unknown_name("value", str(value), names)
            if action.option_strings:
                raise argparse.ArgumentError(action, message)
            # what is to be done with the file was forgotten
            hint = f"; type '{self.prog} {names[0]} {value}'" if Path(str(value)).is_file() else ""
            self.error(message + hint)


class _StoreOnce(argparse._StoreAction):
    """Stores a value, and refuses a second one, which would replace it without a word."""

    def __call__(self, parser: argparse.ArgumentParser, *given: Any) -> None:
        if isinstance(parser, CommandParser) and self.option_strings:
            if self.dest in parser.typed:
                parser.error(f"{'/'.join(self.option_strings)} is given twice, it takes one value")
            parser.typed.add(self.dest)
        super().__call__(parser, *given)


class _HelpAll(argparse.Action):
    """Prints the help of every option."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, default=argparse.SUPPRESS, help=help)

    def __call__(self, parser: Any, *_: object) -> None:
        parser.first = ()
        parser.print_help()
        parser.exit()


def _names(action: argparse.Action) -> Sequence[str]:
    """Return how an argument is typed, or what stands for it in help."""
    if action.option_strings:
        return action.option_strings
    shown = action.metavar or action.dest
    return shown.split() if isinstance(shown, str) else shown


def looks_like_list(word: str) -> bool:
    """Say whether a word names a file rather than anything that has an id."""
    return word.endswith(_LIST_SUFFIXES) or "/" in word or Path(word).is_file()


def completion_is_asked() -> bool:
    """Say whether a shell asks for completions instead of running a command."""
    return "_ARGCOMPLETE" in os.environ


def typed_words() -> list[str]:
    """Return the words of the line in front of the one that is to be completed; none where they are wrong."""
    try:
        from argcomplete.lexers import split_line
    except ImportError:
        # A shell would show whatever is printed here between the words of its user.
        sys.exit(ExitCode.FAILED)
    line = os.environ.get("COMP_LINE", "")
    _, _, _, words, _ = split_line(line, int(os.environ.get("COMP_POINT", len(line))))
    # the first one is ckprof itself, or python -m ckprof
    skipped = int(os.environ.get("_ARGCOMPLETE", "1"))
    return list(words[skipped:])


def complete(parser: CommandParser, session: Session | None) -> None:
    """Hand what can stand at the end of the line to the shell, and end.

    :param session: that of the command, if there is one already: it knows names of directions and targets.
    """
    import argcomplete

    if session is not None:
        from ckprof.model.architecture import architectures

        registry = session.registry
        names = {
            "direction": registry.operations.ids,
            "target": registry.targets.ids,
            "arch": [*architectures()],
            "rule_set": registry.rule_sets.ids,
        }
        for action in parser.all_actions():
            if action.dest in names:
                # what argcomplete looks for
                vars(action)["completer"] = partial(_starting, tuple(names[action.dest]))
    argcomplete.autocomplete(parser, always_complete_options="long")


def _starting(names: tuple[str, ...], prefix: str, **_: object) -> list[str]:
    return [name for name in names if name.startswith(prefix)]
