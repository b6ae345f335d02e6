assay import "$inputs/small.json" -o run.assay >/dev/null
sqlite3 run.assay "UPDATE meta SET value = 0 WHERE key = 'complete'" || exit 99
mv run.assay run.assay.part
assay show run.assay.part --tree=plain | head -n 1
assay show run.assay.part | grep incomplete
