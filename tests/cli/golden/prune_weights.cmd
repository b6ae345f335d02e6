# Runs a model.
# Written weights are named, and never replace those they were made from: here a
# checkpoint.
assay train --synthetic --min-size 32 --steps 1 --threads 1 -o run.assay \
    --set model.name=squeezenet1_1 >/dev/null 2>&1
sum=$(cksum <run.safetensors)
assay prune squeezenet1_1 --classes 3 -p 50 -w run.safetensors -o run.net
echo "exit $?"
[ "$sum" = "$(cksum <run.safetensors)" ] && echo "it is as it was"
assay prune squeezenet1_1 --classes 3 -p 50 -w run.safetensors -o half.net |
    tail -n 1 | sed 's/ [0-9.]* [kMG]*B/ #/g'
assay export half.net -o same.net | sed 's/ [0-9.]* [kMG]*B/ #/g'
ls
