assay metrics alexnet --only model_sise
