assay compare one.assay two.assay
