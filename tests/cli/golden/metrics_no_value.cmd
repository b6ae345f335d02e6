assay metrics alexnet --only throughput --no-weights --csv
