assay import "$inputs/steady.json" -o a.assay >/dev/null
assay import "$inputs/slower.json" -o b.assay >/dev/null
assay report a.assay b.assay | sed 's/  [0-9.]* [kMG]*B$//'
ls
grep -o '"verdict":"[0-9]* scope[s]* [a-z]* slower by more than noise' b.html
assay report a.assay b.assay --fail-above 3% >/dev/null
grep -o '"text":"failed: the whole +13 %' b.html
assay report a.assay --fail-above 3% 2>&1
assay report a.assay b.assay c.assay
