# Runs a model.
# What the run prints is what `assay show --json` prints of its file.
assay run squeezenet1_1 --random --input size=64 --iters 2 --tune 0.01 --json >run.json
assay show run.assay --json | cmp - run.json && /usr/bin/python3 -c '
import json
run = json.load(open("run.json"))
print(run["facts"]["model.name"], run["runs"]["measured"])
print(run["latency"]["median_ms"] > 0)'
