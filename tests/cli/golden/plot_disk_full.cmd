assay import "$inputs/steady.json" -o run.assay >/dev/null
ulimit -f 4
trap '' XFSZ
assay plot run.assay -o plot.png
echo "exit $?"
ls
