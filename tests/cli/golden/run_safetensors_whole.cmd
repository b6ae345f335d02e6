# Runs a model.
# All weights are 0, so that both classes have 1/2: enough to be drawn.
python3 "$inputs/make_weights.py"
COLUMNS=200 assay run --full faster-rcnn "$inputs/../../../assets/coffee.jpg" \
    --weights whole.safetensors --classes 2 --min-size 64 --iters 1 --warmup 0 |
    sed -n 's/^model.*\(weights .*\)/\1/p; s/^\(wrote\).* [kM]B, /\1 /p'
