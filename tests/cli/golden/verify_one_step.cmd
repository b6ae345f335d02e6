# A difference of one quantisation step is called that, a larger one is not.
cd "$inputs/onnx"
assay verify steps
echo "exit $?"
assay verify steps --atol 0.2503 | tail -1
assay verify steps/model.onnx --data steps/far | grep -c "quantisation step"
assay verify steps --json | grep -o '"quantisation_step": [0-9.]*'
