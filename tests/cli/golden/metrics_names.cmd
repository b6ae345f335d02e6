# The line of the backend depends on the build.
assay metrics alexnet --name "Original Model" --no-weights --short \
    --only memory_footprint,total_params --set include_weights=no |
    grep -v Backend
assay metrics alexnet --compare squeezenet1_1 --compare-name Student \
    --no-weights --short --only total_params | grep -v Backend
assay metrics alexnet --compare-name Student
