assay import "$inputs/small.json" -o a.assay >/dev/null
assay compare a.assay a.assay --fail-above 5% >/dev/null
