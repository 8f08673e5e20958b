"""What is tried with lists: objects that keep their contracts, and what is said of others."""

import itertools
from dataclasses import replace
from types import SimpleNamespace

import pytest

from ckprof.cli.main import main
from ckprof.errors import ExitCode
from ckprof.kernels.requests import BuildOptions
from ckprof.paths import conf_root
from ckprof.plugin.additions import Additions
from ckprof.plugin.protocols import KernelSource
from ckprof.testing import check_contract, list_trials
from ckprof.testing.contract import CannotTry
from ckprof.testing.fixtures import ckprof_list, ckprof_registry, ckprof_run  # noqa: F401 - fixtures
from ckprof.testing.list_trials import (
    builder_reader_trials,
    converter_trials,
    family_trials,
    pipeline_trials,
    rule_set_trials,
    string_kind_trials,
    variant_trials,
)
from ckprof.testing.plugins import Registering
from ckprof.testing.samples import Samples

from .conftest import EXAMPLE, LIST, verdicts


def changed(example, **members):
    """A plugin that is the example but for some members of its pipeline."""
    original = Additions()
    example.ckprof_register(original)
    pipeline, *others = original.items
    return Registering(type("Changed", (type(pipeline),), members)(), *others)


COUNTER = itertools.count()


@pytest.mark.parametrize(
    ("members", "said"),
    [
        (
            {"render": lambda *a: KernelSource(name=f"k{next(COUNTER)}", header="", launcher="x")},
            "render gives another header each time",
        ),
        (
            {"render": lambda *a: KernelSource(name="no name", header="L", launcher="L")},
            "'no name' is no C\\+\\+ identifier",
        ),
        (
            {"render": lambda *a: KernelSource(name="fine", header="nothing", launcher="ns::L<2>")},
            "the header has no launcher 'ns::L<2>'",
        ),
        (
            {"instance_string": lambda *a: f"Text{next(COUNTER)}<1>"},
            "instance_string gives another text each time",
        ),
        ({"directions": frozenset({"bwd_data"})}, "an instance of 'fwd', which is not among its directions"),
        ({"kernel_name": lambda *a: 3}, "kernel_name returned an object of type int, expected str"),
    ],
)
def test_a_plugin_that_does_not(example, members, said):
    with pytest.raises(AssertionError, match=said):
        check_contract(changed(example, **members), EXAMPLE / "naive.conf")


def test_a_family_without_a_list_is_untried_and_said_to_be(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(EXAMPLE))
    lines = (conf_root() / "forward" / "tests" / "nhwgc_fp16.conf").read_text().splitlines()
    (tmp_path / "other_nhwgc_fp16.conf").write_text(f"{lines[0]}\n")
    name = "ckprof_naive_gather.plugin"
    code = main(["--plugin", name, "plugins", "--check", name, "--conf", "other_nhwgc_fp16.conf"])
    assert code == ExitCode.FAILED
    printed = capsys.readouterr()
    assert "not possible" in printed.out and "name a list of its instances with --conf" in printed.out
    assert "not everything could be tried: " in printed.err and "pipeline 'naive_gather'" in printed.err


def lines_of(path=LIST):
    return [line for line in path.read_text().splitlines() if line and not line.startswith("#")]


def native_lines(samples, catalog):
    return samples.registry.variants.find(catalog.variant).native(catalog)


def test_objects_that_keep_their_contracts(samples):
    """Those of ckprof and its packages, on a list of theirs; nothing is built."""
    made = samples()
    registry, count = made.registry, len(lines_of())
    conversion = next(made.conversions())
    (catalog,) = conversion.catalogs
    records = f"{len(catalog.records)} records of {catalog.variant!r}"
    variant = verdicts(variant_trials(made, registry.variants.find(catalog.variant)))
    assert variant["records round-trip"] == ("passed", records)
    assert variant["has native lines"] == ("passed", f"{len(native_lines(made, catalog))} lines")
    assert verdicts(family_trials(made, SimpleNamespace(variant=catalog.variant))) == {
        "its lines give records": ("passed", records)
    }
    assert verdicts(family_trials(made, object()))["says which lines there are"][0] == "passed"
    converter = next(one for one in registry.converters if one.recognises(next(made.requests())))
    (converted,) = verdicts(converter_trials(made, converter)).values()
    assert converted == ("passed", f"nhwgc_fp16.conf: {conversion.lines} lines")
    reader = next(one for one in registry.builder_readers if one.recognises(next(made.requests())))
    (read,) = verdicts(builder_reader_trials(made, reader)).values()
    assert read == ("passed", f"nhwgc_fp16.conf: {count} strings")
    sample = made.any_sample
    spelled = verdicts(string_kind_trials(made, registry.strings.kind("tile_forward")))
    assert spelled == {"reads what it writes": ("passed", sample.candidate.instance_string)}
    family = dict(pipeline_trials(made, sample.candidate.pipeline))
    assert [*family] == [
        *("records round-trip", "describes its instances", "renders"),
        "builds, says what instance_string says, and runs",
    ]
    instance = sample.candidate.instance
    assert family["describes its instances"]() == f"{sample.candidate.name}, {instance.key[:12]}"
    assert family["renders"]().endswith(" lines")


def test_lists_that_have_nothing_of_an_object_are_said_to_be_lacking(samples, tmp_path):
    (tmp_path / "one_nhwgc_fp16.conf").write_text(f"{lines_of()[0]}\n")
    made = samples(tmp_path / "one_nhwgc_fp16.conf")
    nothing = SimpleNamespace(id="x", name="x", variant="x", native=None, recognises=lambda request: False)
    for trials, said in (
        (variant_trials(made, nothing), "no list gives records of variant 'x'; name one with --conf"),
        (family_trials(made, nothing), "no list gives records of variant 'x'; name one with --conf"),
        (converter_trials(made, nothing), "recognises none of the lists; name one of its dialect"),
        (builder_reader_trials(made, nothing), "recognises none of the lists; name one of its dialect"),
        (string_kind_trials(made, nothing), "no instance of the lists has such a string; name a list"),
    ):
        ((verdict, detail),) = verdicts(trials).values()
        assert verdict == "not possible" and detail.startswith(said)
    (trial,) = verdicts(rule_set_trials(made, nothing)).values()
    assert trial[0] == "failed" and "unknown rule set 'x'" in trial[1]


class Forgetting(Samples):
    """Samples whose strings are written as others."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        whole = self.registry.strings
        self.strings = SimpleNamespace(
            parse=whole.parse,
            render=lambda parsed: whole.render(parsed).replace("Intrawave", "Interwave"),
            kind=whole.kind,
        )
        self.registry = self

    def __getattr__(self, name):
        return getattr(self.profiler.registry, name)


def test_strings_that_change_when_they_are_written_are_named(samples):
    made = samples(kind=Forgetting)
    ((verdict, detail),) = verdicts(string_kind_trials(made, made.strings.kind("tile_forward"))).values()
    text = samples().any_sample.candidate.instance_string
    other = text.replace("Intrawave", "Interwave")
    assert (verdict, detail) == ("failed", f"{text!r}: written and read again, it is {other!r}")


def test_a_kernel_that_does_not_compile_for_the_architecture_is_untried(samples):
    """The header of such a code object is an error of the compiler."""
    sample, header = samples().any_sample, "// of it\n#error no such instruction\n#error more\n"
    source = KernelSource(name="k", header=header, launcher="k::L")
    candidate = replace(sample.candidate, pipeline=SimpleNamespace(render=lambda *given: source))
    with pytest.raises(CannotTry, match=r"^does not compile for gfx950: no such instruction$"):
        list_trials._rendered(replace(sample, candidate=candidate), "gfx950")


def test_instances_are_tried_where_the_user_says(samples):
    """A header is rendered for the architecture that is named, and runs have the device that is named."""
    made = samples()
    assert (made.arch, made.options.device) == (made.profiler.target().default_arch, 0)
    build = BuildOptions(target="cpu", arch="gfx942", device="emulated")
    there = Samples(made.profiler, made.paths, made.folder, build)
    assert (there.arch, there.options.device) == ("gfx942", "emulated")
