assay help completion
