assay help import
