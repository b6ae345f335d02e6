assay train --synthetic -o none/run.assay --threads 1
