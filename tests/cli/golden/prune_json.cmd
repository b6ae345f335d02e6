assay prune squeezenet1_1 --percent 50 --classes 10 --json | head -24
