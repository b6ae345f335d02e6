assay completion tcsh
