# Runs a model.
assay run faster-rcnn "$inputs/../../../assets/coffee.jpg" --min-size 64 --iters 1 --warmup 0 --tune 0.01 >/dev/full
