assay show run.assay --limit 0
