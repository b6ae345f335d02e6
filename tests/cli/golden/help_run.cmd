assay help run
