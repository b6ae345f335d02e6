assay help machine
