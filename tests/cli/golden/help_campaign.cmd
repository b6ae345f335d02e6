assay help campaign
