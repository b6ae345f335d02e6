assay help shwo
