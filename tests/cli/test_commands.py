"""Commands of packages and plugins: where they are listed, what is imported, what may be wrong with them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from ckprof.cli.commands import command_table

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


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    path = tmp_path / "digging.py"
    path.write_text(PLUGIN)
    return path


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Install a distribution, as pip does."""

    def install(name: str, modules: dict[str, str], entry_points: str, table: str = "") -> Path:
        site = tmp_path / f"site-{name}"
        files = {f"{module}.py": text for module, text in modules.items()}
        if table:
            files[f"{name}_package/COMMANDS.toml"] = table
        for file, text in files.items():
            (site / file).parent.mkdir(parents=True, exist_ok=True)
            (site / file).write_text(text)
        info = site / f"{name}-1.2.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
        (info / "entry_points.txt").write_text(entry_points)
        (info / "RECORD").write_text("".join(f"{file},,\n" for file in files))
        monkeypatch.syspath_prepend(str(site))
        return site

    yield install
    for module in [module for module in sys.modules if module.endswith("_package") or "_package." in module]:
        del sys.modules[module]


def install_dig(
    install, table: str = '[dig]\ntask = "look up"\nsummary = "look below"\n', name: str = "diggers"
):
    module = f"{name}_package.commands"
    install(
        name,
        {f"{name}_package/__init__": "", f"{name}_package/commands": PLUGIN},
        f"[ckprof.commands]\ndig = {module}:COMMAND\n",
        table,
    )
    return module


def test_a_plugin_of_the_command_line_has_a_command(ckprof, plugin: Path) -> None:
    called = ckprof("--plugin", plugin, "--help")
    group = called.out.split("\nlook up:\n")[1].split("\n\n")[0]
    assert called.code == 0 and "\n  dig            look below the surface" in group
    assert ckprof("--plugin", plugin, "dig", "--depth", "2") == (0, "dug dug \n", "")
    assert ckprof("dig", "--depth", "9", "--plugin", plugin).code == 1
    shown = ckprof("--plugin", plugin, "help", "dig").out
    assert (
        shown.startswith("usage: ckprof dig") and "Look below the surface." in shown and "how deep" in shown
    )
    assert "--quiet" in shown and "ckprof dig --depth 3" in shown


def test_a_plugin_of_the_settings_has_a_command(ckprof, plugin: Path, tmp_path: Path) -> None:
    (tmp_path / "ckprof.toml").write_text(f'plugins = ["{plugin.name}"]\n')
    assert "\n  dig " in ckprof("--help").out
    assert ckprof("dig").out == "dug \n"
    (tmp_path / "ckprof.toml").write_text('plugins = "no list"\n')
    assert "\n  run " in ckprof("--help").out
    assert ckprof("dig").code == 3


def test_what_goes_wrong_in_it_has_an_exit_code(ckprof, plugin: Path) -> None:
    called = ckprof("--plugin", plugin, "dig", "--depth", "-1")
    assert called.code == 3 and called.err == "ckprof: there is nothing above\n"
    called = ckprof("--plugin", plugin, "dig", "--depth", "10")
    assert called.code == 4 and "digging.py" in called.err and "ValueError: too deep" in called.err
    called = ckprof("--plugin", plugin, "dig", "--dept", "1")
    assert called.code == 2 and "unknown option '--dept'; did you mean '--depth'?" in called.err
    called = ckprof("--plugin", plugin, "digg")
    assert called.code == 2 and "unknown command 'digg'; did you mean 'dig'?" in called.err


def test_an_installed_command_is_listed_without_importing_it(ckprof, install) -> None:
    module = install_dig(install)
    called = ckprof("--help")
    assert "\n  dig            look below\n" in called.out and called.err == ""
    assert "did you mean 'dig'?" in ckprof("digg").err
    assert ckprof("run", "--help").code == 0
    assert module not in sys.modules
    shown = ckprof("dig", "--help").out
    assert "usage: ckprof dig" in shown and "how deep" in shown and module in sys.modules
    assert ckprof("dig", "--depth", "3").out == "dug dug dug \n"


def test_without_a_table_the_name_alone_is_listed(ckprof, install) -> None:
    install_dig(install, table="")
    assert ckprof("--help").out.split("\nfurther commands:\n")[1].startswith("  dig\n")
    assert "Look below the surface." in ckprof("dig", "--help").out


def test_commands_may_be_the_functions_of_a_module(ckprof, install) -> None:
    install("diggers", {"dig_package": PLUGIN}, "[ckprof.commands]\ndig = dig_package\n")
    assert ckprof("dig").out == "dug \n"


def test_texts_of_others_are_no_control_sequences(ckprof, install, plugin: Path) -> None:
    install_dig(install, '[dig]\ntask = "\\u001b[2J"\nsummary = "a\\n\\u001b[31mb"\n')
    out = ckprof("--help").out
    assert "\x1b" not in out and "\\u001b[31mb" in out
    install("odd", {"odd_package": PLUGIN}, "[ckprof.commands]\n--run = odd_package:COMMAND\n")
    assert "\n  --run\n" in ckprof("--help").out
    called = ckprof("plugins")
    assert called.code == 4 and "'--run' is no name of a command" in called.out
    plugin.write_text(PLUGIN.replace('name="dig"', 'name="Dig it"'))
    called = ckprof("--plugin", plugin, "Dig it")
    assert called.code == 4 and "its name is not of lower-case words" in called.err


@pytest.mark.parametrize("table", ["[dig\n", "[dig]\nsummary = 1\n", '[dig]\nsumary = "x"\n', "dig = 3\n"])
def test_a_broken_table_ends_its_own_commands_alone(ckprof, install, table: str) -> None:
    install_dig(install, table)
    assert "\n  dig\n" in ckprof("--help").out
    called = ckprof("dig")
    assert called.code == 4 and "plugin diggers: COMMANDS.toml" in called.err
    assert ckprof("list", "targets").code == 0
    called = ckprof("plugins")
    assert called.code == 4 and "COMMANDS.toml" in called.out


def test_what_is_no_command_is_said(ckprof, install) -> None:
    points = "[ckprof.commands]\ndig = odd_package:run\ndug = odd_package:none\ndag = odd_package\n"
    install("odd", {"odd_package": "def run(): ..."}, points)
    for name, what in (("dig", "expected Command"), ("dug", "no attribute 'none'"), ("dag", "add_arguments")):
        called = ckprof(name)
        assert called.code == 4 and "plugin odd: command" in called.err and what in called.err


def test_a_name_that_exists_already_names_both_owners(ckprof, install, plugin: Path, monkeypatch) -> None:
    install_dig(install)
    install_dig(install, name="miners")
    called = ckprof("dig")
    assert called.code == 4 and "two plugins provide the command 'dig': diggers and miners" in called.err
    assert ckprof("list", "targets").code == 0
    called = ckprof("plugins")
    assert called.code == 4 and "diggers and miners" in called.out
    monkeypatch.setenv("CKPROF_DISABLE_PLUGINS", "miners")
    assert ckprof("dig").code == 0 and ckprof("plugins").code == 0
    # whoever names the plugin wants its command
    called = ckprof("list", "targets", "--plugin", plugin)
    assert called.code == 4 and "diggers and" in called.err and "digging.py" in called.err


def test_the_name_of_a_command_of_the_core_is_taken(ckprof, tmp_path: Path, install) -> None:
    path = tmp_path / "other_run.py"
    path.write_text(PLUGIN.replace('name="dig"', 'name="run"'))
    called = ckprof("--plugin", path, "run")
    assert called.code == 4 and "'run': ckprof and" in called.err and "other_run.py" in called.err
    install("runners", {"runners_package": PLUGIN}, "[ckprof.commands]\nrun = runners_package:COMMAND\n")
    called = ckprof("run")
    assert called.code == 4 and "'run': ckprof and runners" in called.err
    assert ckprof("--help").out.count("\n  run ") == 1


def test_a_package_that_is_needed_is_named(ckprof, install) -> None:
    install_dig(install, '[dig]\nsummary = "look below"\nneeds = ["shovels"]\n')
    assert "\n  dig            look below\n" in ckprof("--help").out
    for arguments in (["dig"], ["dig", "--help"]):
        called = ckprof(*arguments)
        assert called.code == 4
        assert called.err == "ckprof: dig needs the shovels package, which is not installed\n"


def test_plugins_are_listed_with_their_commands(ckprof, install, plugin: Path) -> None:
    install_dig(install)
    rows = {row["name"]: row for row in json.loads(ckprof("plugins", "--format", "json").out)}
    assert rows["diggers"]["commands"] == "dig" and rows["diggers"]["state"] == "active"
    assert {"run", "plugins"} <= {*rows["ckprof"]["commands"].split()}
    listed = {name for row in rows.values() for name in row["commands"].split()}
    assert listed == {command.name for command in command_table()}


def test_the_command_of_a_plugin_can_be_tried(ckprof, plugin: Path) -> None:
    called = ckprof("plugins", "--plugin", plugin, "--check", plugin)
    assert called.code == 0 and "command 'dig'  adds its options" in called.out
    plugin.write_text(PLUGIN.replace("look below the surface", ""))
    called = ckprof("plugins", "--plugin", plugin, "--check", plugin)
    assert called.code == 4 and "task or summary is empty" in called.out


def test_packages_without_the_folder_have_no_commands(monkeypatch) -> None:
    import ckprof_plugins

    monkeypatch.setattr(ckprof_plugins, "FEATURE_PACKAGES", ("shovels",))
    assert {command.owner for command in command_table()} == {"ckprof"}


def test_each_command_of_ckprof_says_what_it_is_for() -> None:
    from ckprof.cli.commands import TASKS

    for command in command_table():
        if command.is_built_in:
            assert command.task in TASKS and command.summary, command.name


def test_plugins_shows_the_objects_of_each(ckprof, tmp_path: Path) -> None:
    other = tmp_path / "again.py"
    other.write_text(
        "import ckprof\n"
        "from ckprof_plugins.directions.fwd import Forward\n"
        "@ckprof.hookimpl\n"
        "def ckprof_register(registry):\n"
        "    registry.add(Forward())\n"
    )
    rows = {row["name"]: row for row in json.loads(ckprof("plugins", "--format", "json").out)}
    assert "operation: bwd_data bwd_weight fwd" in rows["ckprof_plugins.directions"]["objects"]
    assert rows["ckprof_plugins.pipelines.two_stage"]["objects"] == "pipeline: two_stage"
    called = ckprof("--plugin", other, "plugins")
    assert called.code == 4 and "two plugins provide the operation 'fwd'" in called.err
    assert "store format csv" in called.out and "operation fwd" not in called.out


def test_a_malformed_table_of_a_package_is_one_line(ckprof, tmp_path: Path, monkeypatch) -> None:
    import ckprof_plugins

    (tmp_path / "extract").mkdir()
    table = tmp_path / "extract" / "COMMANDS.toml"
    monkeypatch.setattr(ckprof_plugins, "__path__", [str(tmp_path)])
    for text in ("[extract\n", "extract = 1\n", "[extract]\nsummary = 2\n", "[extract]\nsumary = 'x'\n"):
        table.write_text(text)
        called = ckprof("run", "--help")
        assert called.code == 4 and str(table) in called.err and "Traceback" not in called.err
        assert len(called.err.splitlines()) == 1
