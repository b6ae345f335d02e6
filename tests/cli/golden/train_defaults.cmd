assay train --defaults
