# Every option of `compare` that the other cases leave out does something.
assay import "$inputs/steady.json" -o a.assay >/dev/null
assay import "$inputs/slower.json" -o b.assay >/dev/null
assay compare a.assay b.assay --confidence 99% | grep -c '99 % confidence'
assay compare a.assay b.assay --md | grep -c '^|:--'
assay compare a.assay b.assay --json | head -c 1
echo
assay compare --a a.assay a.assay --b b.assay | grep -c 'a.assay and 1 more'
assay compare a.assay b.assay --all | grep -c relu
