assay import missing.json
