(ulimit -f 16 && assay export squeezenet1_1 --input size=64 -o out.onnx)
echo "exit $?"
ls
