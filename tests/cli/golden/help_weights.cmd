assay help weights
