"""``ckprof sweep --predict`` with kernels from real CK Tile headers, killed and resumed."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from ckprof.errors import CkprofError, ExitCode
from ckprof.store.store import Store
from tests.e2e.catalogs import write_catalog

pytest.importorskip("ckprof_plugins.emulator")

pytestmark = [pytest.mark.amd, pytest.mark.usefixtures("amd_toolchain"), pytest.mark.timeout(1500)]

LINE = "convfp16 -n {} -c 64 -H 28 -W 28 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1"
TARGET = ("--target", "hip", "--arch", "gfx942")


def stored(path):
    """Return what a store has so far: problem and kernel of each prediction -> its cycles."""
    with suppress(CkprofError), Store(path) as opened:
        return {
            (str(one.key.problem), one.key.kernel.instance): one.conditions.extra["prediction"]["cycles"]
            for one in opened
        }
    return {}


def test_a_killed_sweep_resumes_and_compares_with_headers(ckprof, tmp_path):
    catalog = write_catalog(tmp_path / "one.json", "forward", [{"pipeline": "compv1"}])
    problems = [word for count in range(1, 9) for word in ("--problem", LINE.format(count))]
    command = ("sweep", "fwd", "--predict", "--conf", str(catalog), *TARGET, *problems)
    whole = ckprof(*command, "--store", "whole.db", timeout=1200)
    assert whole.code == ExitCode.OK, whole.err
    assert "8 predictions" in whole.out and "nothing was measured" in whole.out
    expected = stored(tmp_path / "whole.db")
    # without answers of the first call, which would make the second one too fast to be killed
    own = {**os.environ, "CKPROF_CACHE_DIR": os.environ["CKPROF_CACHE_DIR"]}
    call = [sys.executable, "-m", "ckprof", *command, "--store", "killed.db", "--fresh"]
    process = subprocess.Popen(
        call, cwd=tmp_path, env=own, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while process.poll() is None and not stored(tmp_path / "killed.db"):
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = stored(tmp_path / "killed.db")
    assert before.items() <= expected.items()
    resumed = ckprof(*command, "--store", "killed.db", timeout=1200)
    assert resumed.code == ExitCode.OK, resumed.err
    assert stored(tmp_path / "killed.db") == expected
    with Store(tmp_path / "killed.db") as opened:
        assert len(opened) == len(expected), "nothing is predicted twice"
    # the same headers once more: nothing differs
    found = ckprof(
        *("predict", "fwd", "--conf", catalog, "--target", "hip", "--diff", "whole.db"),
        *(os.environ["CK_ROOT"], "--format", "json"),
        timeout=1200,
    )
    assert found.code == ExitCode.OK, found.err
    assert [row["ratio"] for row in json.loads(found.out)["rows"]] == [1.0] * 8


def test_a_folder_of_a_build_is_a_side(ckprof, tmp_path):
    """What lies in the folder counts, whatever compiler is there now."""
    catalog = write_catalog(tmp_path / "one.json", "forward", [{"pipeline": "compv1"}])
    command = ("predict", "fwd", "--conf", catalog, *TARGET, "--problem", LINE.format(2))
    written = ckprof(*command, "--build-dir", "built", "--write", "base.json", timeout=1200)
    assert written.code == ExitCode.OK, written.err
    found = ckprof(*command, "--diff", "base.json", "built", "--format", "json", timeout=1200)
    assert found.code == ExitCode.OK, found.err
    result = json.loads(found.out)
    assert [row["ratio"] for row in result["rows"]] == [1.0]
    assert result["after"] == {"name": "built", "compiler": "as it was built"}
    other = write_catalog(tmp_path / "other.json", "forward", [{"pipeline": "compv1", "tile_m": 128}])
    for typed, said in (
        (("predict", "fwd", "--conf", other, *TARGET), "built has none of the kernels of"),
        (
            ("predict", "fwd", "--conf", catalog, "--target", "hip", "--arch", "gfx90a"),
            "gfx942, expected gfx90a",
        ),
    ):
        wrong = ckprof(*typed, "--problem", LINE.format(2), "--diff", "built", "built", timeout=1200)
        assert wrong.code != ExitCode.OK and said in wrong.err
    (library,) = (tmp_path / "built").glob("lib*.so")
    library.unlink()
    gone = ckprof(*command, "--diff", "base.json", "built", timeout=1200)
    assert gone.code == ExitCode.INPUT and "built: it has no library: 'ckprof predict --build-dir" in gone.err
