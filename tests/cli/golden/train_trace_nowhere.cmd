assay train --synthetic --trace nowhere/trace.json
