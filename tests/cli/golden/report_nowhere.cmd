assay import "$inputs/small.json" -o run.assay >/dev/null
assay report run.assay -o missing/report.html
