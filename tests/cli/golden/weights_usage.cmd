assay weights
assay weights shwo
assay weights show
assay weights fetch
assay weights list all
assay weights list --url x
assay weights fetch --json x
