assay compare a.assay b.assay --budgets missing.toml
