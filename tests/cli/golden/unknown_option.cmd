assay show run.assay --dept 3
