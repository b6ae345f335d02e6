# The options of `compare` that no other case uses.
assay import "$inputs/steady.json" -o a.assay >/dev/null
assay import "$inputs/slower.json" -o b.assay >/dev/null
assay compare a.assay b.assay --confidence 99% | grep -c '99 % confidence'
assay compare a.assay b.assay --md | grep -c '^|:--'
assay compare a.assay b.assay --json | head -c 1
echo
assay compare --a a.assay a.assay --b b.assay | grep -c 'a.assay and 1 more'
assay compare a.assay b.assay --all | grep -c relu
# All of the change is 13 % of the whole.
assay compare a.assay b.assay --floor 20% | grep -c 'does not count'
assay compare a.assay b.assay --fail-above 5% --github | grep -c '^::error title=assay'
assay compare a.assay b.assay --fail-above 5% --junit gate.xml >/dev/null 2>&1
grep -c '<failure' gate.xml
assay compare a.assay b.assay --junit gate.xml
assay compare a.assay b.assay --github
