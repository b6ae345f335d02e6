assay import "$inputs/small.json" -o run.assay >/dev/null
assay report run.assay | sed 's/  [0-9.]* [kMG]*B$//'
ls
assay report run.assay -o - | cmp - run.html
