: >recording
assay recording
