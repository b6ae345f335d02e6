assay help prune
