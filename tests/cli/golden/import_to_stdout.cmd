assay import "$inputs/small.json" -o -
