assay import "$inputs/small.json" -o run.assay >/dev/null
ulimit -f 4
trap '' XFSZ
assay report run.assay -o report.html
echo "exit $?"
ls
