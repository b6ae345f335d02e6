assay help tensorboard
