"""Commands of packages and plugins: where they are listed, what is imported, what may be wrong with them."""

import ast
import re
import sys
from pathlib import Path

import pytest

from ckprof.cli.commands import command_table, schemas, version_of

from .digging import PLUGIN, install_dig

ROOT = Path(__file__).parents[2]


def test_an_installed_command_is_listed_without_importing_it(ckprof, install):
    module = install_dig(install)
    called = ckprof("--help")
    assert "\n  dig            look below\n" in called.out and called.err == ""
    assert "did you mean 'dig'?" in ckprof("digg").err
    assert ckprof("run", "--help").code == 0
    assert module not in sys.modules
    shown = ckprof("dig", "--help").out
    assert "usage: ckprof dig" in shown and "how deep" in shown and module in sys.modules
    assert ckprof("dig", "--depth", "3").out == "dug dug dug \n"


def test_without_a_table_the_name_alone_is_listed(ckprof, install):
    install_dig(install, table="")
    assert ckprof("--help").out.split("\nfurther commands:\n")[1].startswith("  dig\n")
    assert "Look below the surface." in ckprof("dig", "--help").out


def test_commands_may_be_the_functions_of_a_module(ckprof, install):
    install("diggers", {"dig_package": PLUGIN}, "[ckprof.commands]\ndig = dig_package\n")
    assert ckprof("dig").out == "dug \n"


def test_texts_of_others_are_no_control_sequences(ckprof, install, plugin):
    install_dig(install, '[dig]\ntask = "\\u001b[2J"\nsummary = "a\\n\\u001b[31mb"\n')
    out = ckprof("--help").out
    assert "\x1b" not in out and "\\u001b[31mb" in out
    install("odd", {"odd_package": PLUGIN}, "[ckprof.commands]\n--run = odd_package:COMMAND\n")
    assert "\n  --run\n" in ckprof("--help").out
    called = ckprof("plugins")
    assert called.code == 4 and "'--run' is not a name of a command" in called.out
    plugin.write_text(PLUGIN.replace('name="dig"', 'name="Dig it"'))
    called = ckprof("--plugin", plugin, "Dig it")
    assert called.code == 4 and "its name is not of lower-case words" in called.err


@pytest.mark.parametrize("table", ["[dig\n", "[dig]\nsummary = 1\n", '[dig]\nsumary = "x"\n', "dig = 3\n"])
def test_a_broken_table_ends_its_own_commands_alone(ckprof, install, table):
    install_dig(install, table)
    assert "\n  dig\n" in ckprof("--help").out
    called = ckprof("dig")
    assert called.code == 4 and "plugin diggers: COMMANDS.toml" in called.err
    assert ckprof("list", "targets").code == 0
    called = ckprof("plugins")
    assert called.code == 4 and "COMMANDS.toml" in called.out


def test_what_is_no_command_is_said(ckprof, install):
    points = "[ckprof.commands]\ndig = odd_package:run\ndug = odd_package:none\ndag = odd_package\n"
    install("odd", {"odd_package": "def run(): ..."}, points)
    for name, what in (("dig", "expected Command"), ("dug", "no attribute 'none'"), ("dag", "add_arguments")):
        called = ckprof(name)
        assert called.code == 4 and "plugin odd: command" in called.err and what in called.err


def test_a_name_that_exists_already_names_both_owners(ckprof, install, plugin, monkeypatch):
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


def test_the_name_of_a_command_of_the_core_is_taken(ckprof, tmp_path, install):
    path = tmp_path / "other_run.py"
    path.write_text(PLUGIN.replace('name="dig"', 'name="run"'))
    called = ckprof("--plugin", path, "run")
    assert called.code == 4 and "'run': ckprof and" in called.err and "other_run.py" in called.err
    install("runners", {"runners_package": PLUGIN}, "[ckprof.commands]\nrun = runners_package:COMMAND\n")
    called = ckprof("run")
    assert called.code == 4 and "'run': ckprof and runners" in called.err
    assert ckprof("--help").out.count("\n  run ") == 1


def test_a_package_that_is_needed_is_named(ckprof, install):
    install_dig(install, '[dig]\nsummary = "look below"\nneeds = ["shovels"]\n')
    assert "\n  dig            look below\n" in ckprof("--help").out
    for arguments in (["dig"], ["dig", "--help"]):
        called = ckprof(*arguments)
        assert called.code == 4
        assert called.err == "ckprof: dig needs the shovels package, which is not installed\n"


def test_packages_without_the_folder_have_no_commands(monkeypatch):
    import ckprof_plugins

    monkeypatch.setattr(ckprof_plugins, "FEATURE_PACKAGES", ("shovels",))
    assert {command.owner for command in command_table()} == {"ckprof"}


def test_each_command_of_ckprof_says_what_it_is_for():
    from ckprof.cli.commands import TASKS

    for command in command_table():
        if command.is_built_in:
            assert command.task in TASKS and command.summary, command.name


def test_a_malformed_table_of_a_package_is_one_line(ckprof, tmp_path, monkeypatch):
    import ckprof_plugins

    (tmp_path / "extract").mkdir()
    table = tmp_path / "extract" / "COMMANDS.toml"
    monkeypatch.setattr(ckprof_plugins, "__path__", [str(tmp_path)])
    for text in ("[extract\n", "extract = 1\n", "[extract]\nsummary = 2\n", "[extract]\nsumary = 'x'\n"):
        table.write_text(text)
        called = ckprof("run", "--help")
        assert called.code == 4 and str(table) in called.err and "Traceback" not in called.err
        assert len(called.err.splitlines()) == 1


def constants():
    """Return the names in ``SCHEMA = ...`` of the code, and the versions that stand beside them."""
    found = {}
    for path in [*(ROOT / "ckprof").rglob("*.py"), *(ROOT / "plugins").rglob("*.py")]:
        values, text = {}, path.read_text()
        # most files need not be parsed
        for node in ast.parse(text).body if "\nSCHEMA" in text else ():
            target = node.target if isinstance(node, ast.AnnAssign) else None
            if isinstance(node, ast.Assign):
                (target,) = node.targets
            if isinstance(target, ast.Name) and isinstance(getattr(node, "value", None), ast.Constant):
                values[target.id] = node.value.value
        if "SCHEMA" in values:
            found.setdefault(values["SCHEMA"], set()).add(values["VERSION"])
    return found


def test_every_schema_is_in_the_table_and_the_documents():
    table = {name: {version_of(place)} for name, place, _ in schemas() if place.endswith(":VERSION")}
    assert constants() == table
    pages = [ROOT / "docs" / "schemas.md", *(ROOT / "plugins").glob("*/docs/*.md")]
    tables = [page.read_text().partition("\n| schema | version |")[2] for page in pages]
    rows = dict(re.findall(r"^\| `([^`]+)` \| (\d+) \|", "".join(tables), re.MULTILINE))
    assert rows == {name: str(version_of(place)) for name, place, _ in schemas()}
