assay train --set model.weights=random --threads 1
