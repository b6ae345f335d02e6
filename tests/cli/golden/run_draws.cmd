# Runs a model.
mkdir drawn
assay run mask-rcnn "$inputs/../../../assets/coffee.jpg" --min-size 64 --iters 1 --warmup 0 --tune 0.01 --score 0 --drawn drawn |
    sed -n 's/[0-9.]* MB/N MB/; /^wrote/,/^next/p' | grep -v ^next
ls drawn
head -c 3 drawn/coffee_targets.jpg | od -An -tx1
# Drawing is not part of an iteration.
assay show run.assay --csv | cut -d, -f1 | grep -E 'draw|encode' | sort
