assay help help
