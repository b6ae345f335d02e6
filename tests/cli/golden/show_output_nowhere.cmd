assay show run.assay --json -o nowhere/out.json
