"""``ckprof plugins``: what each plugin brings, and trials of one."""

import json

from ckprof.cli.commands import command_table

from .digging import PLUGIN, install_dig


def test_plugins_are_listed_with_their_commands(ckprof, install, plugin):
    install_dig(install)
    rows = {row["name"]: row for row in json.loads(ckprof("plugins", "--format", "json").out)}
    assert rows["diggers"]["commands"] == "dig" and rows["diggers"]["state"] == "active"
    assert {"run", "plugins"} <= {*rows["ckprof"]["commands"].split()}
    listed = {name for row in rows.values() for name in row["commands"].split()}
    assert listed == {command.name for command in command_table()}


def test_the_command_of_a_plugin_can_be_tried(ckprof, plugin):
    called = ckprof("plugins", "--plugin", plugin, "--check", plugin)
    assert called.code == 0 and "command 'dig'  adds its options" in called.out
    plugin.write_text(PLUGIN.replace("look below the surface", ""))
    called = ckprof("plugins", "--plugin", plugin, "--check", plugin)
    assert called.code == 4 and "task or summary is empty" in called.out


def test_plugins_shows_the_objects_of_each(ckprof, tmp_path):
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
