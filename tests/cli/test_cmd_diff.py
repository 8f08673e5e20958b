"""``ckprof diff``: what can be compared, and what is no instance."""

import pytest

from tests.measured import Made, stored


@pytest.mark.parametrize("name", ["old.db", "report.json", "shard.ndjson"])
def test_diff_points_at_compare(ckprof, tmp_path, name):
    (tmp_path / "report.json").write_text('{\n  "schema": "ckprof.run",\n  "version": 1\n}\n')
    (tmp_path / "shard.ndjson").write_text('{"schema":"ckprof.attempts","version":1}\n')
    stored(tmp_path / "old.db", Made(problems=1, instances=1, rounds=1))
    ckprof("diff", name, "forward/tests/nhwgc_fp16").fails_with(2, "ckprof compare")
