mkdir folder.assay
assay show folder.assay
