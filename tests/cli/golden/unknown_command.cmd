assay shwo run.assay
