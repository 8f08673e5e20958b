"""Kernels of the lists ``tests``, and folders that are generated from them."""

import pytest

import ckprof
from ckprof.kernels.requests import BuildOptions
from ckprof.paths import conf_root

#: direction -> folder of its lists
FOLDERS = {"fwd": "forward", "bwd_data": "backward_data", "bwd_weight": "backward_weight"}


@pytest.fixture(scope="session")
def kernels_of():
    """Return a function that chooses kernels of all lists ``tests`` of a direction."""

    def chosen(direction, *filters):
        lists = tuple(sorted((conf_root() / FOLDERS[direction] / "tests").glob("*.conf")))
        query = ckprof.InstanceQuery(conf=lists, directions=direction, filters=filters)
        return ckprof.Profiler().instances(query)

    return chosen


@pytest.fixture(scope="session")
def generate():
    """Return a function that writes a selection in the dispatcher's form."""

    def written(selection, root, **options):
        build = BuildOptions(build_dir=root, plugin_options={"form": "dispatcher"}, **options)
        tree, rejected = ckprof.Profiler().generate(selection, build)
        assert not rejected
        return tree.root

    return written
