# Runs a model.
# Names of files may be any bytes and never reach the terminal unescaped.
assay export squeezenet1_1 --input size=64 --classes 10 -o small.onnx >wrote || cat wrote
name=$(printf 'a\033[31m.jpg')
cp "$inputs/../../../assets/coffee.jpg" "$name"
assay run --full small.onnx "$name" --decode classes --iters 1 --warmup 0 --tune 0.01 --explain >screen
grep -c "$(printf '\033')" screen
sed -n 's/^  \(a?.*jpg\) .*/\1/p' screen
assay run small.onnx "$name" --decode classes --labels small.onnx
