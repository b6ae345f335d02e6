assay import "$inputs/small.json" -o run.assay >/dev/null
assay show run.assay --phase backward
