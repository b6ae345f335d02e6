assay import "$inputs/small.json" -o run.assay >/dev/null
assay plot run.assay --kind memory
echo "exit $?"
assay plot run.assay --kind roofline -o roof.png
echo "exit $?"
ls
