"""Options that messages, help texts and documents name exist, for the command that they are named with."""

import argparse
import ast
import re
from functools import cache
from pathlib import Path

import pytest

from ckprof.cli.main import main
from ckprof.cli.parser import CommandParser
from tests.called import COMMANDS, EVERY_PACKAGE
from tests.places import belongs_to_tests

ROOT = Path(__file__).parents[2]
OPTION = re.compile(r"(?<![\w/.=+-])--[a-z][a-z0-9-]*[a-z0-9]\b(?!-)")
#: a command with what follows it, to the end of the line, of a quotation, or of the command
CALL = re.compile(r"\bckprof ((?:[a-z]+-)*[a-z]+)\b([^'`|;\n]*)")

#: options of other programs; ``--extractor`` is there where plugins offer several
FOREIGN = {
    *("--build", "--parallel", "--install", "--prefix"),  # cmake
    *(
        "--porcelain",
        "--untracked-files",
        "--show-prefix",
        "--first-parent",
        "--reverse",
        "--show-toplevel",
        "--end-of-options",
        "--verify",
    ),  # git
    *("--force-reinstall", "--benchmark-only", "--gpus-per-node"),  # pip, pytest, sbatch
    *("--text", "--query-gpu", "--raw-invocation"),  # a CSS variable, nvidia-smi, ckProfiler
    *("--expt-relaxed-constexpr", "--rocm-device-lib-path", "--offload-arch", "--rocm-path"),  # compilers
    *("--no-gpu-bundle-output", "--offload-device-only", "--offload-host-only", "--print-supported-cpus"),
    *("--offload-compress",),
    *("--args", "--kernel-trace", "--output-directory", "--trace-children"),  # what --launcher starts
    *("--instances", "--extractor", "--raw-invocation"),  # the first and the last are ckProfiler's
    "--resume",  # what is typed instead is said
    "--half",  # plugins/cuda/tests/benchmarks/cuda_unseen.py
}
#: tables of the flags of MIOpenDriver and ckProfiler
OTHER_FILES = {
    ROOT / "plugins" / "directions" / "_convolution" / name
    for name in ("miopen.py", "miopen_fusion.py", "positional.py")
}


#: documents name options that feature packages add to commands of the core
WHOLE = pytest.mark.skipif(not EVERY_PACKAGE, reason="options of a package that is not installed are named")


def text_of(node):
    """The text of a constant or an f-string; what is filled in becomes ``…``."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else "\N{HORIZONTAL ELLIPSIS}"
            for part in node.values
        )
    return None


@cache
def texts(path):
    """Lines and texts of a document, or the strings of a module."""
    return tuple(_texts(path))


def _texts(path):
    if path.suffix != ".py":
        known = {command.name for command in COMMANDS}
        for number, line in enumerate(path.read_text().splitlines(), 1):
            # pages of the core may show commands of packages that are left out of a checkout
            called = re.match(r"ckprof ([a-z-]+)\b", line)
            if called is None or called[1] in known:
                yield number, line
        return
    content = path.read_text()
    # what names no option need not be parsed
    nodes = [*ast.walk(ast.parse(content))] if OPTION.search(content) else []
    parts = {part for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        text = text_of(node)
        if text is not None and node not in parts:
            yield from ((node.lineno + index, line) for index, line in enumerate(text.splitlines()))


def files():
    modules = (path for name in ("ckprof", "converters", "plugins") for path in (ROOT / name).rglob("*.py"))
    pages = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "plugins").glob("*/docs/*.md")]
    named = [*sorted(modules), *sorted(pages), ROOT / "README.md"]
    return [path for path in named if path not in OTHER_FILES and not belongs_to_tests(path)]


def of_parser(parser):
    """Options of a parser and of the commands below it."""
    found = set()
    for action in parser._actions:
        found |= {option for option in action.option_strings if option.startswith("--")}
        if isinstance(action, argparse._SubParsersAction):
            found = found.union(*map(of_parser, action.choices.values()))
    return found


@pytest.fixture(scope="module")
def options():
    """Command -> its options."""
    found = {}

    class Built(Exception):
        """The parser is complete."""

    with pytest.MonkeyPatch.context() as patch:
        for command in COMMANDS:

            def take(self, arguments, name=command.name):
                (commands,) = (a for a in self._actions if isinstance(a, argparse._SubParsersAction))
                found[name] = of_parser(commands.choices[name]) | {"--version"}
                raise Built

            patch.setattr(CommandParser, "parse_all", take)
            with pytest.raises(Built):
                main([command.name])
    return found


@WHOLE
def test_every_option_that_is_named_exists(options):
    known = set().union(*options.values())
    unknown = {
        f"{path.relative_to(ROOT)}:{line}: {option}"
        for path in files()
        for line, text in texts(path)
        for option in OPTION.findall(text)
        if option not in known | FOREIGN
    }
    assert not unknown, "\n".join(sorted(unknown))


@WHOLE
def test_an_option_that_is_named_with_a_command_is_one_of_its_own(options):
    wrong = set()
    calls = 0
    for path in files():
        for line, text in texts(path):
            for name, rest in CALL.findall(text):
                if name in options:
                    calls += 1
                    wrong |= {
                        f"{path.relative_to(ROOT)}:{line}: ckprof {name} {option}"
                        for option in OPTION.findall(rest)
                        if option not in options[name] | FOREIGN
                    }
    assert calls > 300
    assert not wrong, "\n".join(sorted(wrong))
