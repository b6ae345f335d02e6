assay help metrics
