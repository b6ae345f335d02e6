assay weights
assay weights shwo
assay weights show
assay weights fetch
assay weights list all
assay weights check one.pth
assay weights show --classes 5 one.pth
assay weights check one.pth rcnn
assay weights list --url x
assay weights fetch --json x
