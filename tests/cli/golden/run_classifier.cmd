# Runs a model.
COLUMNS=200 assay run --full squeezenet1_1 "$inputs/../../../assets/coffee.jpg" --iters 1 --warmup 0 --tune 0.01 |
    sed -n '/^model\|^input\|^content\|^note/p'
