printf "[training]\nnum_workers = -1\n" >c.toml
assay train c.toml
