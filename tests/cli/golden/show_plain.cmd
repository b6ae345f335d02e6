assay import "$inputs/small.json" -o run.assay >/dev/null
assay show run.assay --tree=plain
assay show run.assay --table=plain --limit 2
