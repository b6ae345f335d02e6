assay weights show "$inputs/weights.pth" | sed "s,$inputs/,,"
