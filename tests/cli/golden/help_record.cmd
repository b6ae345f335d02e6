assay help record
