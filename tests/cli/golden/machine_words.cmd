# Nothing but options.
assay machine everything
