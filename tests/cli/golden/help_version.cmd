assay help version
