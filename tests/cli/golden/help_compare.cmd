assay help compare
