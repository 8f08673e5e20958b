"""From chosen instances to their sources and to a library, by a compiler that compiles nothing."""

from dataclasses import replace
from pathlib import Path

import pytest

from ckprof import BuildOptions, InstanceQuery, Profiler
from ckprof.errors import NothingLeftError, PluginError, ToolchainError
from ckprof.events import Level, Message, Progress, ProgressEnded
from ckprof.kernels.choose import choose_instances
from ckprof.kernels.library import build_library, build_messages, generate_sources, link_library, make_parts
from ckprof.model.outcome import Status
from ckprof.model.recipe import MachinePart, Product, Purpose
from ckprof.model.results import BuildSummary
from ckprof.plugin.hookspecs import hookimpl
from ckprof.plugin.protocols import SourceAddition
from ckprof.session import Session

LIST = InstanceQuery(conf="forward/tests/nhwgc_fp16", indices=(0, 1, 2))


class Target:
    """Compiles with what a test gives it."""

    id, default_arch = "told", "gfx942"

    def __init__(self, recipe):
        self.given = recipe

    def recipe(self, request):
        return replace(self.given, arch=request.arch, api_level="2026-06", target=self.id)


class Told(Session):
    """Notes what is told."""

    def target(self, name=None):
        return self.of_test


class Hooks:
    """Notes what a build says to plugins."""

    def __init__(self):
        self.heard = []

    @hookimpl
    def ckprof_before_build(self, direction, instances):
        self.heard.append((direction, len(instances)))

    @hookimpl
    def ckprof_after_build(self, direction, failures):
        self.heard.append((direction, [(one.key, one.status) for one in failures]))


@pytest.fixture
def session(tmp_path, monkeypatch, make_recipe, fake_compiler):
    """A session whose target has a scripted compiler."""
    monkeypatch.setenv("CKPROF_CACHE_DIR", str(tmp_path / "cache"))
    profiler = Profiler()
    told = []
    session = Told(
        settings=replace(profiler.settings, work_dir=str(tmp_path / "work"), jobs=2),
        manager=profiler.manager,
        emit=told.append,
    )
    session.of_test = Target(make_recipe(fake_compiler(), prefix_header=""))
    session.told = told
    return session


def messages(session):
    return [event.text for event in session.told if isinstance(event, Message)]


def test_a_library_holds_the_kernels_that_compile(session, fake_compiler):
    selection = choose_instances(session, LIST)
    first, second, third = selection.candidates
    fake_compiler(f"if any({second.name!r} in arg for arg in args): sys.exit('k.hpp:1: error: no')")
    hooks = Hooks()
    session.manager.register(hooks, "hooks")
    library = build_library(session, selection, BuildOptions(), Purpose.RUN)
    assert library.path.is_file() and library.path.name == "libckprof_conv_fwd.so"
    assert (library.built, library.direction.id) == ((first, third), "fwd")
    (rejected,) = library.rejected
    assert (rejected.candidate, rejected.status) == (second, Status.COMPILE_ERROR)
    assert rejected.reason.startswith("k.hpp:1: error: no\n")
    digests = [kernel.object_digest for kernel in library.kernels]
    assert digests[1] == "" and digests[0] and digests[2] and library.code_objects is None
    assert [kernel.key for kernel in library.kernels] == [one.instance.key for one in selection.candidates]
    failure = (second.instance.key, Status.COMPILE_ERROR)
    assert hooks.heard == [("fwd", 3), ("fwd", [failure])]
    said = messages(session)
    assert said[-2] == "compiler: fake"
    assert said[-1].startswith("built 2 of 3 kernels: 2 compiled, 0 from the cache, 1 failed; ")
    steps = [event for event in session.told if isinstance(event, Progress)]
    assert (steps[0].what, steps[0].done, steps[0].total) == ("build", 0, 3)
    assert steps[-1].done == steps[-1].total and any(isinstance(one, ProgressEnded) for one in session.told)
    # the same call finds the library, and its objects
    again = build_library(session, selection, BuildOptions(compile_timeout_s=9.0), Purpose.RUN)
    assert again.path == library.path and again.summary.from_cache == 2


def test_what_the_rules_reject_is_not_built(session, calls):
    selection = choose_instances(session, LIST)
    library = build_library(session, selection, BuildOptions(arch="gfx1201"), Purpose.RUN)
    assert (library.path, library.built, len(library.rejected)) == (None, (), 3)
    assert {one.status for one in library.rejected} == {Status.UNSUPPORTED}
    assert ", 3 not valid for gfx1201; " in messages(session)[-1] and calls() == []
    assert [kernel.object_digest for kernel in library.kernels] == [""] * 3
    with pytest.raises(NothingLeftError, match=r"no instance of .*fp16 is valid for gfx1201"):
        generate_sources(session, selection, BuildOptions(arch="gfx1201"))


def test_code_objects_are_listed_and_not_linked(session):
    target = session.of_test
    target.given = replace(target.given, product=Product.CODE_OBJECTS, cannot_run="there is no device")
    selection = choose_instances(session, LIST)
    library = build_library(session, selection, BuildOptions(), Purpose.INSPECT)
    assert library.path is None and len(library.built) == 3
    assert (library.code_objects / "code_objects.json").is_file()
    with pytest.raises(ToolchainError) as caught:
        build_library(session, selection, BuildOptions(), Purpose.RUN)
    assert str(caught.value) == (
        "--target told: there is no device; compile them with 'ckprof build', see what they need with "
        "'ckprof inspect', or run them on the CPU without --target told"
    )


def test_sources_are_written_for_other_build_systems(session, calls, tmp_path):
    selection = choose_instances(session, LIST)
    own = tmp_path / "own"
    tree, rejected = generate_sources(session, selection, BuildOptions(build_dir=own, chunk_size=2))
    assert (tree.root, rejected, calls()) == (own, [], [])
    assert len(list(own.glob("registration/register_fwd_chunk_*.cpp"))) == 2
    assert [kernel.instance for kernel in tree.kernels] == [one.instance for one in selection.candidates]


class Ranking:
    """A plugin that ranks kernels where it is asked to."""

    @hookimpl
    def ckprof_add_sources(self, arguments, session, build_dir, candidates):
        return arguments.get("ranking")


def test_one_plugin_ranks_the_kernels_of_what_programs_embed(session, tmp_path):
    selection = choose_instances(session, LIST)
    ranking = SourceAddition(
        header="my_ranking.hpp",
        rank="mine::rank",
        digest="1",
        render=lambda kernels: {"include/my_ranking.hpp": f"// {len(kernels)} kernels\n"},
    )
    asked = BuildOptions(build_dir=tmp_path / "own", plugin_options={"ranking": ranking})
    session.manager.register(Ranking(), "one")
    tree, _ = generate_sources(session, selection, asked)
    (header,) = tree.root.rglob("my_ranking.hpp")
    assert header.read_text() == "// 3 kernels\n"
    session.manager.register(Ranking(), "two")
    with pytest.raises(PluginError, match="one and two both rank the kernels: omit the options of one"):
        generate_sources(session, selection, asked)


def test_a_library_is_built_as_programs_build_it(session, fake_cmake, tmp_path):
    selection = choose_instances(session, LIST)
    fake_cmake("libckprof_conv_fwd.so")
    path, rejected = link_library(session, selection, BuildOptions())
    assert path.name == "libckprof_conv_fwd.so" and path.parent.name == "out" and rejected == []
    assert (path.parents[1] / "CMakeLists.txt").is_file()
    path, rejected = link_library(session, selection, BuildOptions(arch="gfx1201"))
    assert path is None and len(rejected) == 3


@pytest.mark.parametrize(
    ("present", "steps", "said"),
    [
        (True, (), []),
        (True, ((1, 2, "a"), (2, 2, "b")), ["what has changed"]),
        (False, ((1, 1, "a"),), ["about 41 s of CPU time"]),
        (False, (), ["about 41 s of CPU time"]),
    ],
)
def test_what_a_machine_needs_once_is_said_where_it_takes_time(session, present, steps, said):
    asked = []

    def make(jobs, on_step):
        asked.append(jobs)
        for step in steps:
            on_step(*step)

    part = MachinePart(name="headers", folder=Path("/kept"), cpu_s=41.4, present=present, make=make)
    session.told.clear()
    make_parts(session, replace(session.of_test.given, parts=(part, part)), 3)
    assert asked == [3, 3]
    texts = [f"compiling headers, once on this machine: {what}; kept in /kept" for what in said]
    assert messages(session) == texts * 2
    progress = [(one.done, one.total, one.name) for one in session.told if isinstance(one, Progress)]
    assert progress == ([(0, 0, "")] * len(said) + list(steps)) * 2
    assert sum(isinstance(one, ProgressEnded) for one in session.told) == 2 * len(said)


def test_a_part_that_fails_ends_its_progress(session):
    def make(jobs, on_step):
        raise ToolchainError("no space")

    part = MachinePart(name="headers", folder=Path("/kept"), cpu_s=1.0, present=False, make=make)
    with pytest.raises(ToolchainError, match="no space"):
        make_parts(session, replace(session.of_test.given, parts=(part,)))
    assert isinstance(session.told[-1], ProgressEnded)


@pytest.mark.parametrize(
    ("count", "named"), [(2, "k0, k1: why"), (3, "k0, k1, k2: why"), (5, "k0, k1, k2 and 2 more: why")]
)
def test_kernels_that_only_compile_apart_are_warned_of(session, count, named):
    selection = choose_instances(session, LIST)
    library = build_library(session, selection, BuildOptions(arch="gfx1201"), Purpose.RUN)
    names = tuple(f"k{number}" for number in range(count))
    summary = BuildSummary(compiled=5, wall_s=1.25, jobs=1, separated=((names, "why"),))
    counts, apart = build_messages(replace(library, rejected=(), summary=summary))
    assert counts.text == ("built 0 of 3 kernels: 5 compiled, 0 from the cache, 0 failed; 1.2 s on 1 job")
    assert apart.level is Level.WARNING
    assert apart.text.startswith(f"these {count} kernels compile, but did not in one translation unit, so ")
    assert apart.text.endswith(f" took longer: {named}")
