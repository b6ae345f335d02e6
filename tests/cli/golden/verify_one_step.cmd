# A difference of one quantisation step is called that, a larger one is not.
cd "$inputs/onnx"
assay verify steps
echo "exit $?"
assay verify steps --quantised | tail -4
assay verify steps/model.onnx --data steps/far | grep -c "accepts that"
assay verify steps --json | grep -o '"quantisation_step": [0-9.]*'
