XDG_CACHE_HOME=$PWD
export XDG_CACHE_HOME
cp "$inputs/weights.pth" .
assay run faster-rcnn "$inputs/../../../assets/coffee.jpg" --weights weights.pth --min-size 64 --iters 1 --warmup 0 --tune 0.01 2>problems
code=$?
head -n 3 problems
tail -n 2 problems
cut -d ' ' -f 1 problems | sort | uniq -c
find . -type f | sort
exit $code
