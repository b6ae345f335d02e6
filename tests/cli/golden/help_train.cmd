assay help train
