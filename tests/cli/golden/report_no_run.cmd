assay report missing.assay -o report.html
echo "exit $?"
ls
