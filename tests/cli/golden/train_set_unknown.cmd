assay train --set training.bach_size=2
