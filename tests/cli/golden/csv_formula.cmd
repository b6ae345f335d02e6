# Names in a model that a spreadsheet or a terminal would execute.
printf 'assay-net 1\nmodel m Net\nmodule "=HYPERLINK(1)" "@Conv"\nmodule "-2+3" Relu\ninput x float32 1x3x4x4\nparameter w float32 2x3x1x1 normal 0.2\n%%0 = Conv2d(x, w, -, -) in "=HYPERLINK(1)" stride=1,1 dilation=1,1 groups=1\n%%1 = ReLU(%%0) in "-2+3"\noutput y %%1\n' >m.net
assay layers m.net --csv
assay run m.net --random -n 2 --plain -o run.assay >screen || cat screen
assay show run.assay --csv | grep -e '=HYPER' -e '-2' | cut -d, -f1-3
printf '{"traceEvents":[{"ph":"X","name":"=1+1","ts":0,"dur":5,"pid":1,"tid":1},{"ph":"X","name":"a\\u001b[31m\\tb","ts":7,"dur":5,"pid":1,"tid":1}]}' >t.json
assay import t.json -o t.assay >screen || cat screen
assay show t.assay --csv | cut -d, -f1-3 | cat -v
