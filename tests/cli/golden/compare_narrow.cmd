# As wide as the screen: this one has no room for the intervals.
assay import "$inputs/steady.json" -o a.assay >/dev/null
assay import "$inputs/slower.json" -o b.assay >/dev/null
COLUMNS=60 assay compare a.assay b.assay
