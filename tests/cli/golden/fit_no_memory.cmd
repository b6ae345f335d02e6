assay fit --synthetic
