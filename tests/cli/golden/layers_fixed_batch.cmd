# A file may fix its batch: another batch would be counted but not computed.
assay export squeezenet1_1 --input size=64 -o free.net >wrote || cat wrote
sed 's/^input images float32 ?x/input images float32 1x/' free.net >fixed.net
assay layers free.net --batch 4 | sed -n 2p
assay layers free.net --batch 64 | sed -n 2p
assay layers fixed.net | sed -n 2p
assay layers fixed.net --batch 4
assay run fixed.net --batch 4 --iters 4
assay metrics fixed.net --batch 4 --no-weights --short
