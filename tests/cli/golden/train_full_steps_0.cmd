mkdir .config
printf "[profile]\nfull_steps = 0\n" >.config/config.toml
assay train
