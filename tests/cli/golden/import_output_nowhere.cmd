assay import "$inputs/small.json" -o nowhere/run.assay
