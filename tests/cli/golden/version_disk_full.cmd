assay version >/dev/full
