assay help fit
