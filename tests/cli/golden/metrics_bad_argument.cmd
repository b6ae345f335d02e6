assay metrics alexnet --set threshold
plugin=$(dirname "$(readlink -f "$(command -v assay)")")/examples/libsparsity.so
assay metrics alexnet --set threshold=1 --no-weights
assay metrics alexnet --metric "$plugin" --set treshold=1 --no-weights
