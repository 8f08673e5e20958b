"""Every list that ships with ckprof, in one command."""

from __future__ import annotations

import json

import pytest

from ckprof.errors import ExitCode
from ckprof.paths import conf_root


@pytest.mark.thorough
def test_every_shipped_list_matches(ckprof):
    done = ckprof("parity", "--all", "--format", "json")
    assert done.code == ExitCode.OK
    comparisons = json.loads(done.out)["comparisons"]
    assert len(comparisons) == len(list(conf_root().rglob("*.conf")))
    for comparison in comparisons:
        counts = comparison["counts"]
        assert counts["missing"] == counts["extra"] == counts["duplicate"] == 0
        assert counts["matched"] == comparison["second_count"]
        collapsed = [loss for loss in comparison["lossy"] if loss["rule"] == "collapsed"]
        # every instance of the list is matched, lossy or skipped; nothing is lost without a word
        assert counts["matched"] + len(collapsed) == comparison["first_count"]
        assert all(loss["reason"] for loss in comparison["lossy"])
        assert all(skip["rule"] and skip["reason"] for skip in comparison["skipped"])
        path = conf_root() / comparison["title"].split()[1]
        lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
        copies = 3 if "depthwise" in path.name else 1
        assert comparison["first_count"] + counts["skipped"] == len(lines) * copies


def test_one_direction_of_a_tree(ckprof):
    done = ckprof("parity", "bwd_data", "--tree", conf_root(), "--format", "json")
    titles = [comparison["title"] for comparison in json.loads(done.out)["comparisons"]]
    assert titles
    assert all(title.startswith("bwd_data backward_data/") for title in titles)
