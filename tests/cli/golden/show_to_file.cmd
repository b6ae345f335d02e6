assay import "$inputs/small.json" -o run.assay >/dev/null
assay show run.assay --tree=plain -o - >direct
assay show run.assay --tree=plain -o tree.txt | sed 's/  [0-9.]* [kMG]*B$//'
cmp direct tree.txt
ls
