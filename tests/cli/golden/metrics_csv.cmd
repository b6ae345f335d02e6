assay metrics alexnet --no-weights --csv --only model_size,total_params
assay metrics alexnet --compare resnet18 --no-weights --csv --only total_params
