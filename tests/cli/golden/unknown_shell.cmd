assay completion fish
