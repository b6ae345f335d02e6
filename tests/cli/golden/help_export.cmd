assay help export
