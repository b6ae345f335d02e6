assay fingerprint fit --data nowhere -o x.fp
echo "exit $?"
mkdir empty
assay fingerprint fit --data empty -o x.fp
echo "exit $?"
assay fingerprint fit --data "$inputs/device" --train tiny:0 -o x.fp
echo "exit $?"
cp -r "$inputs/device" broken
chmod -R u+w broken
sed 's/^network,prune/network,level/' "$inputs/device/layers.csv" >broken/layers.csv
assay fingerprint fit --data broken -o x.fp
echo "exit $?"
cp "$inputs/device/layers.csv" broken
sed '4s/.*/tiny,0,4,training,0,1,1,soon,98,450,512/' "$inputs/device/measurements.csv" >broken/measurements.csv
assay fingerprint fit --data broken -o x.fp
echo "exit $?"
echo 'assay fingerprint 7' >new.fp
assay fingerprint eval new.fp --data "$inputs/device"
echo "exit $?"
cp "$inputs/small.json" .
assay predict resnet18 --on small.json
echo "exit $?"
ls
