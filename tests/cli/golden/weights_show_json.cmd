cd "$inputs" && assay weights show --json weights.pth
