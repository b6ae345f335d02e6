assay help man
