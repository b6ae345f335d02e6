# No operands.
assay machine everything
