assay help tax
