assay help
