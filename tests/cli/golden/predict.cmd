assay fingerprint fit --data "$inputs/device" -o d.fp >/dev/null 2>&1
assay predict resnet18 --on d.fp --batch 8
echo "exit $?"
assay predict squeezenet1_1 --on d.fp --input size=64 --batch 1..64 --anyway --memory 350MiB |
    sed 's/[0-9][0-9.]* *[mMs][iBs]*B*/#/g; s/  */ /g; s/# to #.*/# to #/; s/batch [0-9]* is/batch # is/; s/(#urely, [0-9]* at/(# surely, # at/'
assay predict squeezenet1_1 --on d.fp --input size=64 --batch 4 --anyway --json |
    sed 's/: [0-9][0-9.]*/: #/g'
assay predict resnet18 --on d.fp --stage inference
echo "exit $?"
assay predict resnet18
echo "exit $?"
assay predict resnet18 --on d.fp --batch 0
echo "exit $?"
assay predict resnet19 --on d.fp
echo "exit $?"
# A network is recognised by its name, with or without a level at the end.
assay prune mobilenet_v2 --input size=64x64 -p 50 -o tiny_50.net >/dev/null
sed 's/^model tiny_50/model other/' tiny_50.net >other.net
assay predict tiny_50.net --on d.fp --batch 4 --anyway | grep '^latency'
assay predict other.net --on d.fp --batch 4 --anyway --level 50
echo "exit $?"
assay predict other.net --on d.fp --batch 4 --anyway --family tinny
echo "exit $?"
assay predict mobilenetv2 --on d.fp --batch 4
echo "exit $?"
# Ops that are not counted are listed.
sed 's/^output logits %\([0-9]*\)/%900 = Softmax(%\1) axis=1\noutput logits %900/' tiny_50.net >soft_50.net
assay predict soft_50.net --on d.fp --batch 4 --anyway | grep 'not counted'
assay predict soft_50.net --on d.fp --batch 4 --anyway --json | grep not_counted
