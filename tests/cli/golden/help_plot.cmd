assay help plot
