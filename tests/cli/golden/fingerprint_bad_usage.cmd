assay fingerprint
echo "exit $?"
assay fingerprint ftt
echo "exit $?"
assay fingerprint fit --data "$inputs/device"
echo "exit $?"
assay fingerprint fit -o x.fp
echo "exit $?"
assay fingerprint fit --data "$inputs/device" --train resnet50:0,3x -o x.fp
echo "exit $?"
assay fingerprint fit --data "$inputs/device" --train tiny:97 -o x.fp
echo "exit $?"
assay fingerprint fit --data "$inputs/device" --train "tiny:0,50 other:0" -o x.fp
echo "exit $?"
assay fingerprint fit --data "$inputs/device" --model oracle -o x.fp
echo "exit $?"
assay fingerprint fit --data "$inputs/device" --train resnet50 -o x.fp 2>&1 | tail -n 1
assay fingerprint eval
echo "exit $?"
# Levels that were not measured, and options of another action.
assay fingerprint fit --data "$inputs/device" --train tiny:3 -o x.fp 2>&1 | tail -n 1
assay fingerprint fit --data "$inputs/device" -o x.fp --json
echo "exit $?"
assay fingerprint eval x.fp --data "$inputs/device" --model forest
echo "exit $?"
assay fingerprint show x.fp --data "$inputs/device"
echo "exit $?"
ls
