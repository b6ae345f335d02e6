assay layers alexnet --md | sed -n '1,4p; $p'
