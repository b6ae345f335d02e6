assay metrics alexnet --compare resnet18 --no-weights --md \
    --only total_params,layerwise_summary --short | grep -v Backend
