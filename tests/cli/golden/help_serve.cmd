assay help serve
