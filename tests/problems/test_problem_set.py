"""Problem sets agree with the sizes that their networks are known for."""

import json

import pytest

from ckprof.errors import InputError, PluginError, UsageError
from ckprof.plugin.protocols import ProblemSetFile
from ckprof.problems.problem_set import find_set, plugin_set, read_set, set_names
from ckprof.testing import registry_with
from ckprof.testing.plugins import Registering

#: Parameters of the published models, and those of them that are no weights of the listed convolutions:
#: fully connected layers, biases, normalisation, layer scale.
PARAMETERS = {
    "resnet50": (25_557_032, (2048 * 1000 + 1000) + 2 * 26_560),
    "vgg16": (138_357_544, (25088 * 4096 + 4096) + (4096 * 4096 + 4096) + (4096 * 1000 + 1000) + 4_224),
    "mobilenet_v2": (3_504_872, (1280 * 1000 + 1000) + 2 * 17_056),
    "densenet121": (7_978_856, (1024 * 1000 + 1000) + 2 * 41_824),
    "inception_v3": (23_834_568, (2048 * 1000 + 1000) + 2 * 17_216),
    "unet3d": (19_069_955, 2 * 1_168 + 3),
    "convnext_tiny": (28_589_128, 769_000 + 1_536 + 288 + 2_688 + 9 * 6_624),
    "ssd300": (26_285_486, 4_224 + 2_048 + 1_920 + 120 + 630 + 512),
}

#: multiply-add operations in millions that the networks are quoted with, their convolutions alone
MILLION_MACS = {
    "resnet50": 4_087,
    "vgg16": 15_347,
    "mobilenet_v2": 299,
    "densenet121": 2_833,
    "inception_v3": 5_711,
    "convnext_tiny": 4_455,
    "ssd300": 31_374,
}


def test_the_networks_of_the_specification_ship():
    assert set(set_names()) == {*PARAMETERS, "unet2d"}


@pytest.mark.parametrize("name", PARAMETERS)
def test_weights_add_up_to_the_published_parameters(name):
    total, others = PARAMETERS[name]
    weights = sum(layer.count * layer.problem.weight_elements for layer in find_set(name).layers)
    assert weights == total - others


@pytest.mark.parametrize("name", MILLION_MACS)
def test_operations_are_those_that_the_networks_are_quoted_with(name):
    flop = sum(one.count * one.problem.flop for one in find_set(name).problems(1))
    assert round(flop / 2e6) == MILLION_MACS[name]


def test_the_2d_u_net_has_the_sizes_of_its_figure():
    layers = {layer.name: layer for layer in find_set("unet2d").layers}
    assert sum(layer.count for layer in layers.values()) == 23  # the paper's own count
    assert layers["down1_a"].problem.input == (572, 572)
    assert layers["down5_b"].problem.output == (28, 28)
    assert layers["up4"].transposed
    assert layers["up4"].problem.input == (56, 56)
    assert layers["up4"].problem.output == (28, 28)
    assert layers["classes"].problem.output == (388, 388)


def test_published_sizes_and_batches():
    assert find_set("unet3d").layers[-1].problem.output == (28, 44, 44)
    one, four = find_set("resnet50").problems(1), find_set("resnet50").problems(4)
    assert [4 * a.problem.flop for a in one] == [b.problem.flop for b in four]
    assert [a.count for a in one] == [b.count for b in four]


@pytest.mark.parametrize("name", [*PARAMETERS, "unet2d"])
def test_layers_are_distinct_and_named(name):
    layers = find_set(name).layers
    assert len({(layer.problem, layer.transposed) for layer in layers}) == len(layers)
    assert len({layer.name for layer in layers}) == len(layers)
    assert find_set(name).origin


def test_unknown_sets_and_empty_batches_are_errors():
    with pytest.raises(UsageError, match=r"unknown problem set 'resnet51'; did you mean 'resnet50'\?"):
        find_set("resnet51")
    with pytest.raises(InputError, match="batch is 0"):
        find_set("vgg16").problems(0)


def written(path, **changes):
    layer = {"name": "a", "count": 2, "groups": 1, "out_channels": 8, "in_channels": 4}
    layer |= {"filter": [3], "input": [9], "strides": [1], "dilations": [1], "pads": [1]}
    record = {"schema": "ckprof.problem_set", "version": 1, "id": "own", "label": "Own", "ndim": 1}
    record |= {"origin": "us", "notes": [], "layers": [layer]}
    layer |= changes.pop("layer", {})  # type: ignore[arg-type]
    path.write_text(json.dumps(record | changes))
    return path


def test_a_set_of_ones_own(tmp_path):
    own = find_set(str(written(tmp_path / "own.json")))
    assert own.problems(2)[0].problem.describe().startswith("1D G1 N2 K8 C4 in 9")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 2}, "version 2 is not known"),
        ({"schema": "x"}, "the schema is 'x'"),
        ({"layers": []}, "no layers"),
        ({"colour": 1}, "unknown field `colour`"),
        ({"layer": {"count": 0}}, "layer a: count is 0"),
        ({"layer": {"pads": [-1]}}, "layer a: left_pads along W is -1"),
        ({"layer": {"input": [1], "pads": [0]}}, "layer a: the output is empty"),
        ({"ndim": 2}, "it has 1 spatial axes, the set says 2"),
    ],
)
def test_wrong_sets(tmp_path, changes, message):
    with pytest.raises(InputError, match=message):
        read_set(written(tmp_path / "own.json", **changes))


def provided(*sets):
    return registry_with(Registering(*sets))


def test_a_plugin_brings_a_set(tmp_path):
    registry = provided(ProblemSetFile(id="own", path=written(tmp_path / "any name.json")))
    assert "own" in set_names(registry) and "vgg16" in set_names(registry)
    assert find_set("own", registry).label == "Own"
    assert find_set("vgg16", registry) == find_set("vgg16")
    with pytest.raises(UsageError, match=r"known: .*own.*vgg16.*\.json file; .* named with --problems"):
        find_set("other", registry)


def test_sets_of_plugins_that_clash(tmp_path):
    other = ProblemSetFile(id="mine", path=written(tmp_path / "own.json"))
    with pytest.raises(PluginError, match=r"'mine': .*own.json says that it is 'own'"):
        find_set("mine", provided(other))
    with pytest.raises(PluginError, match="two plugins provide the problem set 'mine'"):
        set_names(provided(other, other))
    shipped = ProblemSetFile(id="vgg16", path=written(tmp_path / "vgg16.json", id="vgg16"))
    with pytest.raises(PluginError, match="ckprof has a set of that name"):
        plugin_set(shipped)


def test_a_missing_file(tmp_path):
    with pytest.raises(InputError, match="cannot read"):
        find_set(str(tmp_path / "no.json"))
