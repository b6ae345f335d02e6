mkdir .config
printf "[training]\n\nbatch_size = 0\n" >.config/config.toml
assay train
