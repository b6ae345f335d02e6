assay train none.toml
