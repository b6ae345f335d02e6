assay train --set training.batch_size
