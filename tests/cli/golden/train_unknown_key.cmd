printf "[training]\nbatchsize = 2\n" >c.toml
assay train c.toml
