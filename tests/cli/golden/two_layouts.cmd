assay show run.assay --tree --json
