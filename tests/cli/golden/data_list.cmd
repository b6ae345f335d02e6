assay data list
