"""Each instance of the shipped lists on an NVIDIA GPU: built, run and verified by ``ckprof run`` itself.

``pytest -m cuda plugins/cuda/tests/test_shipped_lists.py``; pytest-xdist's ``-n 8`` builds several
lists at once. The problems are those of ``golden/list_problems``, of which each instance supports some.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from ckprof.kernels.units import available_cpus
from ckprof_plugins.cuda.devices import devices
from plugins.cuda.tests.list_problems import ARCH, UNUSABLE, golden_name, shipped_lists

GOLDEN = Path(__file__).parent / "golden"
DIRECTIONS = {"forward": "fwd", "backward_data": "bwd_data", "backward_weight": "bwd_weight"}
#: kernels are verified, by the device where it can compare; times do not matter
OPTIONS = ("--reference", "auto", "--rounds", "1", "--warmup", "0", "--min-samples", "1", "--max-time", "0")
#: conditions of the device that the host model does not know
OF_THE_DEVICE = {"device-memory", "device-shared-memory"}

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(not devices(), reason="no NVIDIA GPU was found"),
]


@pytest.mark.parametrize("conf", shipped_lists())
def test_shipped_lists_run_verified(conf, tmp_path):
    report = tmp_path / "report.json"
    done = subprocess.run(
        [
            *(
                sys.executable,
                "-m",
                "ckprof",
                "-q",
                "run",
                DIRECTIONS[conf.partition("/")[0]],
                "--conf",
                conf,
            ),
            *(
                "--target",
                "cuda",
                "--arch",
                ARCH,
                "--problems",
                str(GOLDEN / golden_name(conf)),
                "--json",
                str(report),
            ),
            *(*OPTIONS, "--format", "csv", "--jobs", str(_jobs())),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert report.exists(), done.stderr
    found = json.loads(report.read_text())
    outcomes = [one for problem in found["problems"] for one in problem["outcomes"]]
    verified = {
        one["instance"] for one in outcomes if one["status"] == "ok" and one["verification"]["passed"]
    }
    statuses = Counter(one["status"] for one in outcomes)
    print(f"\n{conf}: {len(found['instances'])} instances, {len(verified)} verified, {dict(statuses)}")
    failed = [one for one in outcomes if one["status"] not in ("ok", "unsupported")]
    assert not failed, [(one["instance"], one["status"], one["reason"][:200]) for one in failed[:5]]
    names = {one["index"]: one["name"] for one in found["instances"]}
    assert not [name for index, name in names.items() if index not in verified and name not in UNUSABLE]
    assert all(one["verification"]["passed"] for one in outcomes if one["status"] == "ok")
    assert not [one for one in outcomes if OF_THE_DEVICE.intersection(_conditions(one))]
    assert done.returncode == 0, done.stderr


def _jobs():
    """Return how many compilers one of the tests that run at once may start."""
    return max(1, available_cpus() // int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))


def _conditions(outcome):
    return {one["condition"] for one in outcome["refusals"]}
