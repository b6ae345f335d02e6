assay import "$inputs/steady.json" -o run.assay >/dev/null
assay plot run.assay | sed 's/  [0-9.]* [kMG]*B$//'
assay plot run.assay --kind latency -o latency.svg | sed 's/  [0-9.]* [kMG]*B$//'
assay plot run.assay -k timeline -o timeline.pdf | sed 's/  [0-9.]* [kMG]*B$//'
head -c 5 timeline.pdf
echo
ls
