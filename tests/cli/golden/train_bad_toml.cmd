printf "[training]\nbatch_size = \n" >bad.toml
assay train bad.toml
