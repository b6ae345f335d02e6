assay metrics vgg16 --compare vgg16_bn --no-weights --notes \
    --only model_size,total_params,complexity,complexity_products |
    grep -v Backend
