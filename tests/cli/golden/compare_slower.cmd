assay import "$inputs/steady.json" -o a.assay >/dev/null
assay import "$inputs/slower.json" -o b.assay >/dev/null
assay compare a.assay b.assay --fail-above 5% -o report.txt | sed 's/  [0-9.]* [kMG]*B$//'
assay compare --a a.assay --b b.assay --fail-above 5% --json >/dev/null
echo "exit $?"
assay compare b.assay a.assay --fail-above 5% >/dev/null
echo "exit $?"
assay compare a.assay b.assay >/dev/null
echo "exit $?"
