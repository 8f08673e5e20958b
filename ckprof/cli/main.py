"""Parsing of the command line and the one place where errors become messages and exit codes."""

from __future__ import annotations

import argparse
import errno
import gc
import os
import signal
import sys
import textwrap
import threading
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Final

from ckprof.cli import memory
from ckprof.cli.commands import command_table
from ckprof.cli.parser import CommandParser, complete, completion_is_asked, typed_words
from ckprof.errors import CkprofError, ExitCode, Interrupted, ListError, PluginError
from ckprof.sanitize import encodable, plain
from ckprof.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ckprof.cli.commands import CommandTable
    from ckprof.cli.session import Session
    from ckprof.plugin.hookspecs import Command


_NOT_OF_PLUGINS: Final = {errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.ENAMETOOLONG}
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _say_nothing(_: str) -> None:
    pass


class StopSignals:
    """Turns signals into :class:`~ckprof.errors.Interrupted`, or into a request where that is better.

    A context manager. While the program ends because of a signal, further ones change nothing, since a closed
    terminal sends several; but Ctrl-C ends it at once.
    """

    def __init__(self) -> None:
        self._say: Callable[[str], None] = _say_nothing
        #: signals that are only noted
        self._noted_only = 0
        self._handlers: dict[signal.Signals, object] = {}
        self._finished = False
        #: the first signal that came
        self.received: signal.Signals | None = None

    @property
    def requested(self) -> bool:
        """Whether a stop was requested."""
        return self.received is not None

    @property
    def exit_code(self) -> ExitCode:
        """What the command returns because of the signal; ``OK`` if there was none."""
        return ExitCode.OK if self.received is None else Interrupted(self.received).exit_code

    def check(self) -> None:
        """End the command if a signal came that has not done so.

        :raises Interrupted: there was one.
        """
        if self.received is not None:
            raise Interrupted(self.received)

    def begin(self, say: Callable[[str], None]) -> None:
        """From now on the first signal is a request to end at the next boundary, the second one interrupts.

        :param say: told once that the end is near.
        """
        if self._say is _say_nothing:
            self._say = say
            self._noted_only = 1

    def finish(self) -> None:
        """From now on signals change nothing: the program is about to end anyway."""
        self._finished = True

    def defer(self) -> None:
        """From now on a signal is only noted, as by :meth:`deferred`: what follows reports what was found."""
        self._noted_only = 1

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Only note a signal that comes inside: for what must be done as a whole and takes no time.

        A second one interrupts, in case it takes time after all.
        """
        before, self._noted_only = self._noted_only, 1
        try:
            yield
        finally:
            self._noted_only = before

    def __enter__(self) -> StopSignals:
        # Python calls handlers in its main thread alone, and lets no other one set them.
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                # A shell that starts commands in the background, or nohup, has them ignore some.
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._handlers[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _handle(self, number: int, frame: FrameType | None) -> None:
        first = self.received is None
        self.received = self.received or signal.Signals(number)
        if self._finished:
            return
        if self._noted_only:
            self._noted_only -= 1
            # the terminal may be gone, or just be written to
            with suppress(OSError, RuntimeError):
                name = signal.Signals(number).name
                self._say(f"{name}: stopping after the current kernel; repeat to stop at once")
        elif first or self._say is not _say_nothing or number == signal.SIGINT:
            raise Interrupted(number)


_DESCRIPTION = """\
Profile grouped-convolution kernels of AMD Composable Kernel: legacy instance lists in,
verified, timed and ranked CK Tile kernels out. Without a GPU, kernels run on the CPU.
"""

#: how many new objects are looked through for unused ones, and how often older ones are: with Python's usual
#: numbers that takes a fifth of the time of commands that convert lists, whose objects all stay
GARBAGE_THRESHOLDS: Final = (100_000, 20, 100)
#: of the list of commands
_HELP_WIDTH: Final = 80

_EPILOG = """\
example:
  ckprof run fwd --conf conf/forward/tests/nhwgc_fp16.conf

exit codes:
  0  everything asked for succeeded
  1  some outcome failed, or no instance supports the problem
  2  wrong usage: unknown option or id, contradictory options
  3  bad input: a list, catalog or problem cannot be used
  4  a plugin cannot be loaded or breaks its contract
  5  no usable compiler, the build system failed, or the device cannot be used any more
  129, 130, 143  ended by SIGHUP, SIGINT (Ctrl-C) or SIGTERM; what was measured is reported

'ckprof help COMMAND' and 'ckprof COMMAND --help' describe each command.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    if argv is None:  # the process is ours
        gc.set_threshold(*GARBAGE_THRESHOLDS)
        _open_streams()
        memory.prepare()
    arguments = list(sys.argv[1:] if argv is None else argv)
    # results and locks say which command it was
    sys.argv[1:] = map(encodable, sys.argv[1:])
    if completion_is_asked():
        arguments = typed_words()
    # Until the last word is said: a terminal that is closed sends several signals.
    with StopSignals() as signals:
        try:
            return _dispatch(arguments, signals)
        except CkprofError as exc:
            _print_error(str(exc) + _what_to_do(exc, arguments))
            _print_traceback(exc, arguments)
            return exc.exit_code
        except KeyboardInterrupt:
            signals.finish()
            # the first one is why the command ends, whatever else came while it did
            end = Interrupted(signals.received or signal.SIGINT)
            _print_error(f"interrupted by {end.number.name}")
            return end.exit_code
        except BrokenPipeError:
            # The reader of our output has gone, e.g. `ckprof list instances | head`: nothing is left to say.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return ExitCode.OK
        except MemoryError:
            _print_error(memory.out_of_memory())
            return ExitCode.TOOLCHAIN
        except OSError as exc:
            # a name that no file can have, a folder that may not be read, a full disk
            where = "the current folder or the system: " if exc.filename is None else f"{exc.filename}: "
            _print_error(f"{where}{exc.strerror or exc}")
            return ExitCode.INPUT


def _open_streams() -> None:
    """Open what the process was started without, and let no character be one that a stream cannot take.

    A file that is opened later must not get the descriptor that others take for standard output.
    """
    null = os.open(os.devnull, os.O_RDWR)
    while null <= 2:  # the lowest that was free
        os.set_inheritable(null, True)
        null = os.dup(null)
    os.close(null)
    sys.stdin = sys.stdin or open(0)
    sys.stdout = sys.stdout or open(1, "w")
    sys.stderr = sys.stderr or open(2, "w")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _what_to_do(error: CkprofError, arguments: Sequence[str]) -> str:
    """Return what helps with wrong lines of a list, as a line of its own."""
    if not isinstance(error, ListError) or not error.line:
        return ""
    lenient = "" if "--lenient" in arguments else "--lenient excludes wrong lines"
    return "\n" + "; ".join(filter(None, (error.advice, lenient)))


def _print_error(text: str) -> None:
    # the terminal may be gone
    with suppress(OSError):
        print(plain(f"ckprof: {text}"), file=sys.stderr)


def _print_traceback(error: CkprofError, arguments: Sequence[str]) -> None:
    """With ``-v``, say where in its own code a plugin failed."""
    if error.exit_code is not ExitCode.PLUGIN:
        return
    options, _ = _parse_shared(arguments, _shared_options())
    if getattr(options, "verbose", None):
        from ckprof.plugin.boundary import traceback_lines

        print(plain("\n".join(traceback_lines(error))), file=sys.stderr)


def _dispatch(arguments: list[str], signals: StopSignals) -> int:
    """Parse in two steps: first which command and which plugins, then the command's own options."""
    shared = _shared_options()
    table = command_table()
    arguments = _without_help_command(arguments, shared)
    options, rest = _parse_shared(arguments, shared)
    name = next((word for word in rest if not word.startswith("-")), None)
    session = _session_for(name, options, signals)
    if session is not None:
        table.add_commands_of(session, name, getattr(options, "plugin", None) or ())
    parser = CommandParser(
        prog="ckprof",
        usage="ckprof [options] COMMAND ...",
        description=f"{_DESCRIPTION}\n{_tasks(table)}",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[shared],
    )
    parser.add_argument(
        "--version",
        action="store_true",
        help="print the version, with -v those of all files and results as well, and stop",
    )
    parsers = parser.add_subparsers(dest="command", metavar="COMMAND", prog="ckprof", help=argparse.SUPPRESS)
    found = table.find(name)
    command: Command | None = None
    for listed in table:
        if listed is not found or session is None:
            parsers.add_parser(listed.name, add_help=False, parents=[])
            continue
        command = listed.load(session)
        sub = parsers.add_parser(
            command.name,
            description=f"{command.summary[:1].upper()}{command.summary[1:]}." if command.summary else None,
            parents=[shared],
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        with session.manager.blaming(f"'ckprof {command.name}'"):
            command.add_arguments(sub, session)
        session.manager.call("ckprof_add_arguments", command=command.name, parser=sub)
        if command.first:
            sub.show_first(*command.first.split())
        if {"-h", "--help", "--help-all"} & {*arguments}:
            sub.complete_help(session.help_names())
    if completion_is_asked():
        complete(parser, session if command else None)
    parsed = parser.parse_all(arguments)
    if parsed.version:
        print(f"ckprof {__version__}")
        if getattr(parsed, "verbose", 0):
            from ckprof.cli.commands import schema_lines

            print(schema_lines())
        return ExitCode.OK
    if command is None or session is None:
        if parsed.command is None:
            parser.print_help()
        return ExitCode.USAGE
    return _run(command, parsed, session)


def _run(command: Command, parsed: argparse.Namespace, session: Session) -> int:
    from ckprof.cli.outputs import to_output_file

    for plugin in session.manager.broken:
        session.console.warning(f"plugin {plugin.name} ({plugin.location}) is not active: {plugin.error}")
    try:
        with session.manager.blaming(f"'ckprof {command.name}'"), to_output_file(parsed, session):
            instead = getattr(parsed, "instead", None)
            code = instead(parsed, session) if instead is not None else None
            code = command.run(parsed, session) if code is None else code
    except PluginError as exc:
        # neither a reader that has gone nor a full disk is the plugin's fault
        cause = exc.__cause__
        if isinstance(cause, MemoryError) or (isinstance(cause, OSError) and cause.errno in _NOT_OF_PLUGINS):
            raise cause from None
        raise
    session.manager.call("ckprof_after_report", command=command.name, exit_code=int(code))
    return code


def _session_for(name: str | None, options: argparse.Namespace, signals: StopSignals) -> Session | None:
    """Open the session of a command, or of a list of commands to which plugins may add theirs.

    :param name: the command; ``None`` for the list.
    """
    explicit = {"plugin", "config"} & {*vars(options)}
    if name is None and not explicit and not _settings_name_plugins():
        return None
    from ckprof.cli.session import open_session

    verbosity = -1 if getattr(options, "quiet", False) else getattr(options, "verbose", 0)
    try:
        return open_session(
            signals,
            verbosity=verbosity,
            config=getattr(options, "config", None),
            plugins=getattr(options, "plugin", None) or (),
        )
    except CkprofError:
        if name is not None or explicit:
            raise
        return None


def _settings_name_plugins() -> bool:
    """Say whether there are settings with plugins; reading them takes longer than printing help does."""
    for folder in (Path.cwd(), *Path.cwd().parents):
        with suppress(OSError, ValueError):
            return "plugins" in (folder / "ckprof.toml").read_text(encoding="utf-8")
    return "CKPROF_PLUGINS" in os.environ


def _tasks(table: CommandTable) -> str:
    """Return the commands, those of one task together."""
    lines: list[str] = []
    width = max(len(command.name) for command in table) + 2
    for command in table:
        if f"{command.task}:" not in lines:
            lines += ["", f"{command.task}:"]
        text = textwrap.fill(
            command.summary,
            _HELP_WIDTH,
            initial_indent=f"  {command.name:{width}}",
            subsequent_indent=" " * (width + 2),
        )
        lines += text.split("\n") if text else [f"  {command.name}"]
    return "\n".join(lines[1:])


def _shared_options() -> CommandParser:
    """Return the options that stand before or after the command and mean the same everywhere."""
    shared = CommandParser(add_help=False, argument_default=argparse.SUPPRESS)
    group = shared.add_argument_group("options of every command")
    group.add_argument("-v", "--verbose", action="count", help="say more")
    group.add_argument("-q", "--quiet", action="store_true", help="results, warnings and errors alone")
    group.add_argument(
        "--plugin",
        action="append",
        metavar="NAME",
        help="load a plugin: a module name or the path of a .py file (repeatable)",
    )
    group.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="settings file (default: ckprof.toml here or in a parent folder)",
    )
    return shared


def _without_help_command(arguments: list[str], shared: CommandParser) -> list[str]:
    """Return ``COMMAND --help`` for ``help COMMAND``, and every other line as it is."""
    options, rest = _parse_shared(arguments, shared)
    if not rest or rest[0] != "help":
        return arguments
    words = [word for word in rest[1:] if not word.startswith("-")]
    # those may bring the command
    words += [f"--plugin={name}" for name in getattr(options, "plugin", ())]
    words += [f"--config={options.config}"] if hasattr(options, "config") else []
    return [*words, "--help"]


def _parse_shared(arguments: Sequence[str], shared: CommandParser) -> tuple[argparse.Namespace, list[str]]:
    return CommandParser(prog="ckprof", parents=[shared], add_help=False).parse_known_args(arguments)
