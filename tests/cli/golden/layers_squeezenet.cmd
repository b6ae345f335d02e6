COLUMNS=100 assay layers squeezenet1_1 --input size=64 --classes 10 | sed -n '1,12p; /^classifier/,$p'
