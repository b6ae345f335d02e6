assay layers alexnet --json | sed -n '1,16p; /"total"/,$p'
