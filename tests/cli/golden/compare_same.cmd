assay import "$inputs/steady.json" -o a.assay >/dev/null
cp a.assay b.assay
assay compare a.assay b.assay --fail-above 5% -o report.txt | sed 's/  [0-9.]* [kMG]*B$//'
