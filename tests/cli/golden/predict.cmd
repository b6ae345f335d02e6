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
