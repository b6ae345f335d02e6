mkdir runs
assay import "$inputs/steady.json" -o runs/a.assay >/dev/null
assay import "$inputs/slower.json" -o runs/b.assay >/dev/null
echo "not a run" >runs/notes.txt
assay report runs | sed 's/  [0-9.]* [kMG]*B$//'
ls
grep -o '"base":"a.assay","result":"failed"' runs.html
grep -o '"text":"failed: the whole +13 %' runs.html
assay report runs/ --fail-above 20% --baseline b.assay -o - |
    grep -o '"base":"b.assay","result":"[a-z]*"'
assay report runs/a.assay --baseline b.assay 2>&1
assay report runs --baseline c.assay 2>&1
mkdir empty
assay report empty
