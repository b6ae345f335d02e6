assay frobnicate
