assay help layers
