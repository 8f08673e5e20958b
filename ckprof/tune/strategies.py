"""All search strategies that plugins provide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.errors import CkprofError, PluginError, UsageError
from ckprof.model.suggestion import unknown_name
from ckprof.plugin.failure import STOPPING, failed
from ckprof.tune.space import Cell
from ckprof.tune.strategy import SearchStrategy, replans

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.plugin.manager import PluginManager
    from ckprof.tune.knowledge import Knowledge
    from ckprof.tune.strategy import Search, SearchRequest

#: the strategy that is used unless another one is named
DEFAULT_STRATEGY = "model"


class SearchStrategies:
    """Strategies by id; what they raise or return that they may not is reported with plugin and strategy.

    :param manager: the plugins.
    :raises PluginError: two strategies have the same id, or something else was registered.
    """

    def __init__(self, manager: PluginManager) -> None:
        self._strategies: dict[str, tuple[str, SearchStrategy]] = {}
        for plugin, added in manager.call("ckprof_register_strategies"):
            for one in added if isinstance(added, (list, tuple)) else [added]:
                if not isinstance(one, SearchStrategy):
                    raise PluginError(f"plugin {plugin}: {one!r} is no search strategy")
                if one.id in self._strategies:
                    other = self._strategies[one.id][0]
                    raise PluginError(f"two plugins provide the strategy {one.id!r}: {other} and {plugin}")
                self._strategies[one.id] = plugin, one

    @property
    def ids(self) -> list[str]:
        """Ids of all strategies, sorted."""
        return sorted(self._strategies)

    @property
    def labels(self) -> dict[str, str]:
        """Id -> a few words."""
        return {name: self._strategies[name][1].label for name in self.ids}

    def start(self, name: str, request: SearchRequest) -> Search:
        """Begin a search of the strategy of that id.

        :raises UsageError: there is none.
        :raises CkprofError: it cannot begin, e.g. because something that it needs is not installed.
        """
        if name not in self._strategies:
            raise UsageError(unknown_name("strategy", name, self.ids, "there is none"))
        plugin, strategy = self._strategies[name]
        return _CheckedSearch(plugin, strategy, request)


class _CheckedSearch:
    """A search whose proposals are checked."""

    def __init__(self, plugin: str, strategy: SearchStrategy, request: SearchRequest) -> None:
        self._plugin = plugin
        self._what = f"strategy {strategy.id!r}"
        try:
            self._search = strategy.start(request)
        except (*STOPPING, CkprofError):
            raise
        except BaseException as error:
            raise failed(plugin, f"{self._what}: start", error) from error
        self.replans = replans(self._search)

    def propose(self, knowledge: Knowledge) -> Sequence[Cell]:
        """Return the proposal of the search.

        :raises PluginError: it raises an error, or proposes what cannot be measured.
        """
        try:
            found = list(dict.fromkeys(Cell(*map(int, cell)) for cell in self._search.propose(knowledge)))
        except (*STOPPING, CkprofError):
            raise
        except BaseException as error:
            raise failed(self._plugin, f"{self._what}: propose", error) from error
        problems, choices = knowledge.space.shape
        for cell in found:
            inside = 0 <= cell.problem < problems and 0 <= cell.choice < choices
            if not inside or not knowledge.open[cell]:
                raise PluginError(
                    f"plugin {self._plugin}: {self._what} proposes problem {cell.problem}, "
                    f"choice {cell.choice}, which is measured already or cannot be measured"
                )
        return found
