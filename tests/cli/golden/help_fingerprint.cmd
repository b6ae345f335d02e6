assay help fingerprint
