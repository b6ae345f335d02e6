: >empty.assay
assay show empty.assay
