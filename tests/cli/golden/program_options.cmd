assay --version
assay -V
assay version
assay --help | head -n 1
assay -h | head -n 1
assay version --help | head -n 1
