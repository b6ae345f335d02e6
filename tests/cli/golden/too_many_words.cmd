assay version now
