echo 'Dear diary, this is not a run.' >text.assay
assay show text.assay
