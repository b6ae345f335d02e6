# The layers follow the table.
assay metrics squeezenet1_1 --no-weights | sed -n '/^layer/,$p' | head -5
