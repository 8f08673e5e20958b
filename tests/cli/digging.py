"""A command that a plugin brings, and its installation."""

PLUGIN = """\
from ckprof import hookimpl
from ckprof.errors import ExitCode, InputError
from ckprof.plugin.hookspecs import Command


def add_arguments(parser, session):
    parser.add_argument("--depth", type=int, default=1, metavar="N", help="how deep")
    parser.epilog = "example:\\n  ckprof dig --depth 3"


def run(arguments, session):
    if arguments.depth < 0:
        raise InputError("there is nothing above")
    if arguments.depth > 9:
        raise ValueError("too deep")
    session.console.result("dug " * arguments.depth)
    return ExitCode.FAILED if arguments.depth == 9 else ExitCode.OK


COMMAND = Command(
    name="dig", task="look up", summary="look below the surface", add_arguments=add_arguments, run=run
)


@hookimpl
def ckprof_register(registry):
    registry.add(COMMAND)
"""


def install_dig(install, table='[dig]\ntask = "look up"\nsummary = "look below"\n', name="diggers"):
    module = f"{name}_package.commands"
    install(
        name,
        {f"{name}_package/__init__": "", f"{name}_package/commands": PLUGIN},
        f"[ckprof.commands]\ndig = {module}:COMMAND\n",
        table,
    )
    return module
