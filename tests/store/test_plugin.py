"""The formats that ship with ckprof."""

from ckprof.plugin.manager import PluginManager
from ckprof.plugin.registry import Registry
from ckprof.store import PLUGIN_MODULES, plugin


def test_formats_are_registered_without_loading_them():
    manager = PluginManager()
    manager.register(plugin, "store")
    formats = Registry(manager).store_formats
    assert PLUGIN_MODULES == (plugin.__name__,)
    assert formats.ids == ("ndjson",)
