assay help predict
