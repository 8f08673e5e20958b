# %% [markdown]
# # Two problems, one list
# Reads a list that ships with ckprof, chooses some of its instances, profiles two problems, and shows the
# outcomes as a table. Open it as a notebook, or run it with `python docs/examples/profile_two_problems.py`.

# %% A session, and what the list holds
# The last cell needs pandas, an extra: where it is missing, that shows here, before anything is measured.
import pandas  # noqa: F401

import ckprof

profiler = ckprof.Profiler()
conversion = profiler.read("forward/tests/nhwgc_fp16")
print(f"{conversion.lines} lines, dropped: {dict(conversion.dropped_by_rule)}")

# %% Instances: two of those with the smallest tiles
query = ckprof.InstanceQuery(
    conf="forward/tests/nhwgc_fp16", filters="tile_m <= 64 and tile_n <= 64", indices=(11, 13)
)
selection = profiler.instances(query)
print([candidate.name for candidate in selection.candidates])

# %% Two problems, in the words of MIOpenDriver and of ckProfiler
lines = [
    "convfp16 -n 1 -c 64 -H 14 -W 14 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1",
    "2 1 1 64 64 1 1 14 14 1 1 1 1 0 0 0 0",
]
results = profiler.profile(query, lines, run=ckprof.RunOptions(max_time_s=0.1))

# %% The best of each problem
for index, problem in enumerate(results.problems):
    best = results.best(index)
    print(problem.describe(), "->", best.name if best else "no instance supports it")

# %% All outcomes: a notebook shows results as a table, and charts of them
print(results)
results.plot.bars(problem=0)

# %% All outcomes as a data frame
frame = results.to_pandas()
print(frame[["problem", "rank", "name", "status", "time_ms", "gflops"]].to_string())
