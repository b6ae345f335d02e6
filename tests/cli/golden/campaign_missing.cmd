assay campaign
