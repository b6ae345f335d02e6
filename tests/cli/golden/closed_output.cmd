assay man >&-
