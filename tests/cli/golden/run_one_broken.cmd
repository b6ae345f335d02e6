# Runs a model.
head -c 4000 "$inputs/../../../assets/coffee.jpg" >cut.jpg
assay run --full mask-rcnn cut.jpg "$inputs/../../../assets/coffee.jpg" --min-size 64 --iters 1 --warmup 0 --tune 0.01 |
    sed -n 's/(.*//; s/ [0-9.]* MB//; /^model\|^input\|^wrote/p'
