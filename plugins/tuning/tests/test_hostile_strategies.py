"""Strategies that misbehave: one message that names them, nothing half done."""

import pytest

from ckprof.errors import CkprofError
from ckprof.testing import check_contract
from ckprof.testing.plugins import Registering
from ckprof_plugins.tuning.strategies import Search, SearchStrategy
from tests.places import TESTS
from tests.plugin import hostile
from tests.plugin import test_hostile_commands as commands
from tests.plugin import test_hostile_objects as objects
from tests.plugin.test_hostile_commands import ACTS, command, named  # noqa: F401 - a fixture
from tests.testing.conftest import LIST

pytestmark = pytest.mark.thorough

TABLE = TESTS / "data" / "measured" / "gfx950_fwd_bf16_30kernels_even.csv"
TUNE = ("tune", "fwd", "--dtype", "bf16", "--replay", str(TABLE), "--strategy", "mine")


class MySearch:
    def propose(self, observations):
        return []


def strategy(search):
    return SearchStrategy(id="mine", label="mine", start=lambda request: search)


STRATEGY = hostile.Case(kind="strategy", make=lambda: strategy(MySearch()), member="start", command=TUNE)
SEARCH = hostile.Case(
    kind="strategy", make=MySearch, protocol=Search, within=strategy, member="propose", command=TUNE
)
BOTH = [pytest.param(STRATEGY, id="strategy"), pytest.param(SEARCH, id="search")]


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("case", BOTH)
def test_a_strategy_that_misbehaves_is_named(case, act, command):  # noqa: F811
    if (case, act) != (STRATEGY, "returns something else"):
        commands.test_a_command_with_an_object_that_misbehaves_says_so_and_leaves_nothing(case, act, command)
        return
    function, _ = ACTS[act]
    named(command(case, commands.acting(case, function)), "'mine'", "start(): lacks propose(observations)")


@pytest.mark.parametrize("act", ["raises", "exits", "closes generators"])
def test_a_property_of_a_search_that_raises_is_named(act, command):  # noqa: F811
    commands.test_a_property_that_raises_is_named(SEARCH, act, command)


@pytest.mark.parametrize(
    "check",
    [
        commands.test_an_id_that_is_no_text_is_reported,
        commands.test_an_id_that_is_there_twice_is_reported,
        commands.test_an_object_that_a_command_does_not_need_costs_nothing,
        commands.test_the_check_of_a_plugin_asks_for_every_kind,
        objects.test_names_are_text_wherever_they_are_shown,
        objects.test_an_id_that_fails_when_it_is_used_is_a_text,
    ],
    ids=lambda check: check.__name__,
)
def test_a_strategy_works_or_is_reported(check, command):  # noqa: F811
    check(STRATEGY, command)


@pytest.mark.parametrize(
    "check",
    [
        commands.test_a_command_works_with_an_object_that_works,
        commands.test_a_member_that_is_missing_is_named,
    ],
    ids=lambda check: check.__name__,
)
@pytest.mark.parametrize("case", BOTH)
def test_a_strategy_and_its_search_work_or_are_reported(case, check, command):  # noqa: F811
    check(case, command)


@pytest.mark.parametrize(
    "act", [commands.raising(KeyboardInterrupt()), commands.hang], ids=["breaks off", "hangs"]
)
@pytest.mark.parametrize("case", BOTH)
def test_an_interrupt_ends_the_search(case, act, command):  # noqa: F811
    commands.test_an_interrupt_ends_the_command(case, act, command)


@pytest.mark.compiler
def test_a_strategy_that_is_not_installed_is_untried_not_broken():
    def start(request):
        raise CkprofError("needs a package")

    with pytest.raises(AssertionError, match="not possible: "):
        check_contract(Registering(SearchStrategy(id="mine", label="l", start=start)), LIST)
