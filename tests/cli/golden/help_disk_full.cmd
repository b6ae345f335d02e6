assay help show >/dev/full
