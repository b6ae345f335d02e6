assay help eval
