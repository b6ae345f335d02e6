# Runs a model.
cp "$inputs/../../../assets/coffee.jpg" one.jpg
COLUMNS=200 assay run --full faster-rcnn one.jpg "$inputs/../../../assets/coffee.jpg" --min-size 64 --iters 1 --warmup 0 --tune 0.01 --iters 4 |
    sed -n 's/[0-9.]* m*s\b/TIME/g; s/one.jpg\|coffee.jpg/PHOTO/; /^input\|^photos\|^content/p'
