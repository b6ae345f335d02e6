assay import "$inputs/small.json" -o run.assay >/dev/null
assay trace run.assay | sed 's/  [0-9.]* [kMG]*B$//'
ls
assay trace run.assay -o - | cmp - run.trace.json
