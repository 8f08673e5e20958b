"""Runs for programs: everything, with schema and version."""

import csv
import io
import json

from ckprof.model.outcome import Status
from ckprof.report.run_data import SCHEMA, VERSION, as_json, render_csv, render_json
from ckprof.report.run_summary import render_best
from tests.report.conftest import REFUSALS
from tests.report.test_run_table import baseline, with_baselines


def test_json_has_schema_version_and_everything(results):
    report = json.loads(render_json(results))
    assert (report["schema"], report["version"]) == (SCHEMA, VERSION)
    outcomes = report["problems"][0]["outcomes"]
    assert len(outcomes) == len(results.outcomes)
    assert report["problems"][0]["best"] == "k2"
    assert outcomes[0]["verification"]["passed"] is True
    assert report["inputs"][0]["dropped_by_rule"] == {"comment": 1}
    assert report["instances"][3]["source"] == "list.conf:4"


def test_csv_has_one_row_per_outcome(results):
    rows = list(csv.DictReader(io.StringIO(render_csv(results))))
    assert len(rows) == len(results.outcomes)
    assert rows[0]["rank"] == "1" and rows[0]["name"] == "kernel_2"
    assert {row["status"] for row in rows} == {status.value for status in Status}


def test_machine_readable_reports_name_the_conditions(rejected):
    problem = json.loads(render_json(rejected))["problems"][0]
    assert problem["refused_by"][0] == {
        "condition": "specialization",
        "instances": 2,
        "alone": 1,
        "example": REFUSALS[1].message,
        "example_instance": 4,
    }
    first = next(o for o in problem["outcomes"] if o["instance"] == 4)
    assert [one["condition"] for one in first["refusals"]] == ["vector-a", "specialization"]
    rows = list(csv.DictReader(io.StringIO(render_csv(rejected))))
    assert rows[1]["refused_by"] == "vector-a specialization"
    assert rows[1]["reason"] == REFUSALS[0].message


def test_csv_has_the_row_and_the_ratio(results):
    rows = list(csv.DictReader(io.StringIO(render_csv(with_baselines(results, baseline())))))
    (own,) = (row for row in rows if row["baseline"])
    assert (own["baseline"], own["instance"], own["rank"], own["status"]) == ("vendor", "", "", "ok")
    assert float(own["time_ms"]) == 3.0 and float(own["vs_vendor"]) == 1.0
    assert {row["name"]: row["vs_vendor"] for row in rows}["kernel_2"] == "1.5"
    assert render_csv(results).splitlines()[0] == (
        "problem,problem_text,rank,instance,name,instance_string,source,pipeline,dtype,split_k,"
        "split_k_deduced,status,time_ms,low_ms,high_ms,statistic,spread_ms,min_ms,samples,stopped_by,units,"
        "tied_with_best,noisy,gflops,gbytes_per_s,max_error,error_ulp,wrong_elements,launches,checked_launches,refused_by,reason"
    )
    best = list(csv.DictReader(io.StringIO(render_best(with_baselines(results, baseline()), "csv", 1))))
    assert [(row["name"], row["vs_vendor"]) for row in best] == [("kernel_2", "1.5")]


def test_json_has_the_outcome_and_the_ratios(results):
    problem = as_json(with_baselines(results, baseline()))["problems"][0]
    (own,) = problem["baselines"]
    assert (own["baseline"], own["status"], own["dtype"], own["layout"]) == ("vendor", "ok", "fp16", "nhwgc")
    assert own["measurement"]["time_ms"] == 3.0 and own["verification"]["passed"]
    assert [row["ratios"] for row in problem["outcomes"][:2]] == [{"vendor": 1.5}, {"vendor": 0.75}]
    assert json.loads(render_json(results))["problems"][0]["baselines"] == []
