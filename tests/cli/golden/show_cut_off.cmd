assay import "$inputs/small.json" -o run.assay >/dev/null
head -c 5000 run.assay >cut.assay
assay show cut.assay
