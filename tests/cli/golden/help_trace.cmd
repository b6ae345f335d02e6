assay help trace
