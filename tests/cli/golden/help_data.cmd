assay help data
