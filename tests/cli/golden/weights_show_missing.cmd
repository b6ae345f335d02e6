assay weights show nowhere.pth
