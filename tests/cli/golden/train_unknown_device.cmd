printf "[training]\ndevice = \"gpu\"\n" >c.toml
assay train c.toml
