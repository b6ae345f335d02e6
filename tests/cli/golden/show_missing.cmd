assay show missing.assay
