assay show
