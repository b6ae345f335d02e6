assay help show
