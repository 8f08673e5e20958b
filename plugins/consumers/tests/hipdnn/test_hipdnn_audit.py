"""Overrides of hipDNN: sound ones pass, and every seeded fault is named."""

import copy
import json

import pytest

from ckprof_plugins.consumers.hipdnn import Hipdnn
from ckprof_plugins.consumers.records import AuditRequest, Reason


def override(batch=8):
    return {
        "op": "conv_fprop",
        "engine_name": "MIOPEN_ENGINE",
        "tensors": [
            {"tensor_id": "X", "dim": [batch, 64, 28, 28], "stride": [50176, 1, 1792, 64]},
            {"tensor_id": "W", "dim": [128, 32, 3, 3], "stride": [288, 1, 96, 32]},
            {"tensor_id": "Y", "dim": [batch, 128, 28, 28], "stride": [100352, 1, 3584, 128]},
        ],
        "autotune_metadata": {
            "rank": 0,
            "min_time_ms": 0.1,
            "avg_time_ms": 0.2,
            "stddev_ms": 0.01,
            "workspace_size": 0,
            "knobs": [{"knob_id": "k", "type": "int64", "value": 3}],
        },
    }


def audited(tmp_path, *overrides, version=2):
    path = tmp_path / "override.json"
    path.write_text(json.dumps({"version": version, "engine_overrides": list(overrides)}))
    return Hipdnn().audit(AuditRequest(path=path))


def edited(*keys, value=None):
    item = copy.deepcopy(override(4))
    inner = item
    for key in keys[:-1]:
        inner = inner[key]
    if value is None:
        del inner[keys[-1]]
    else:
        inner[keys[-1]] = value
    return item


FAULTS = [
    (edited("op"), Reason.MALFORMED_ROW),
    (edited("engine_name", value=""), Reason.MALFORMED_ROW),
    (edited("tensors", value=[]), Reason.MALFORMED_KEY),
    (edited("tensors", 0, "tensor_id"), Reason.MALFORMED_KEY),
    (edited("tensors", 1, "tensor_id", value="X"), Reason.MALFORMED_KEY),
    (edited("tensors", 0, "stride", value=[1, 2]), Reason.MALFORMED_KEY),
    (edited("tensors", 0, "dim", value=[4, 64, -2, 28]), Reason.MALFORMED_KEY),
    (edited("tensors", 0, "dim", value=[3, 64, 28, 28]), Reason.WRONG_PROBLEM),
    (edited("tensors", 1, "dim", value=[127, 32, 3, 3]), Reason.WRONG_PROBLEM),
    (edited("tensors", 1, "dim", value=[128, 30, 3, 3]), Reason.WRONG_PROBLEM),
    (edited("autotune_metadata", "min_time_ms", value=0.5), Reason.WRONG_TIME),
    (edited("autotune_metadata", "avg_time_ms", value=-0.5), Reason.WRONG_TIME),
    (edited("autotune_metadata", "avg_time_ms", value=10**400), Reason.MALFORMED_VALUE),
    (edited("autotune_metadata", "workspace_size", value=-1), Reason.WRONG_WORKSPACE),
    (edited("autotune_metadata", "knobs", 0, "value", value="three"), Reason.MALFORMED_VALUE),
]


@pytest.mark.parametrize(("item", "reason"), FAULTS)
def test_every_seeded_fault_is_named_and_can_be_removed(tmp_path, item, reason):
    audit = audited(tmp_path, override(1), item, override(2))
    assert [(finding.line, finding.reason) for finding in audit.findings] == [(2, reason)]
    audit.path.write_bytes(Hipdnn().cleaned(audit))
    again = Hipdnn().audit(AuditRequest(path=audit.path))
    assert (again.entries, again.findings) == (2, [])


def test_equal_overrides_and_another_version(tmp_path):
    audit = audited(tmp_path, override(), override())
    assert [(finding.line, finding.reason) for finding in audit.findings] == [(2, Reason.DUPLICATE)]
    for version in (1, 3):
        assert audited(tmp_path, override(), version=version).findings == []
    for version in (0, "2", True, None):
        audit = audited(tmp_path, override(), version=version)
        assert [finding.reason for finding in audit.findings] == [Reason.NEVER_HIT]


def test_tensors_by_position_and_lengths_that_fit_all(tmp_path):
    bare = edited("tensors", 0, "tensor_id")
    assert audited(tmp_path, bare, version=1).findings == []
    assert [finding.reason for finding in audited(tmp_path, bare).findings] == [Reason.MALFORMED_KEY]
    loose = edited("tensors", 1, "stride")
    loose["tensors"][0]["dim"][0] = -1
    assert audited(tmp_path, loose).findings == []


def test_other_keys_of_the_document_stay(tmp_path):
    path = tmp_path / "override.json"
    document = {"version": 3, "owner": {"name": "me"}, "engine_overrides": [override(1), {"op": 7}]}
    path.write_text(json.dumps(document))
    clean = Hipdnn().cleaned(Hipdnn().audit(AuditRequest(path=path)))
    assert json.loads(clean) == {**document, "engine_overrides": [override(1)]}


@pytest.mark.parametrize(
    "text", ["", "[]", "7", '{"engine_overrides": 3}', '{"version": 2, "engine_overrides": [7]}']
)
def test_other_content_is_no_exception(tmp_path, text):
    path = tmp_path / "o.json"
    path.write_text(text)
    audit = Hipdnn().audit(AuditRequest(path=path))
    assert {finding.reason for finding in audit.findings} <= {Reason.MALFORMED_ROW, Reason.NEVER_HIT}
    assert audit.findings
