assay layers resnet51
assay layers
