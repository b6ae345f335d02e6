assay machine --threads 0
