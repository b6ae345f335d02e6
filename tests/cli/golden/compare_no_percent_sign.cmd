assay compare one.assay two.assay --fail-above 5
