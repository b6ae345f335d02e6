assay help report
