assay compare one.assay
