assay show run.assay --sort slef
