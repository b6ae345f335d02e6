XDG_CACHE_HOME=/cache assay weights list --json | sed -n 1,6p
