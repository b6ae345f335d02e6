# As wide as the screen: the intervals have no place on this one.
assay import "$inputs/steady.json" -o a.assay >/dev/null
assay import "$inputs/slower.json" -o b.assay >/dev/null
COLUMNS=60 assay compare a.assay b.assay
