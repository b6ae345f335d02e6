printf "[training]\nbatch_size = \"2\"\n" >c.toml
assay train c.toml
