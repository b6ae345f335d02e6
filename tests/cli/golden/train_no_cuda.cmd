printf "[training]\ndevice = \"cuda:0\"\n" >c.toml
assay train c.toml
