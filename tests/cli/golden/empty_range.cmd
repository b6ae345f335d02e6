assay show run.assay --iterations 9..3
