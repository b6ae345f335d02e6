# A device's label is kept beside the name of what was measured, and a
# difference is said.
cp -r "$inputs/device" one
sed '1 s/$/,machine/; 2,$ s/$/,Jetson TX2/' "$inputs/device/measurements.csv" >one/measurements.csv
assay fingerprint fit --data one --device tx2 -o d.fp | sed -n '1,2 p'
assay fingerprint fit --data one --device '2080 Ti' -o d.fp | sed -n '1,2 p'
grep -E '^(device|machine)' d.fp
cp -r "$inputs/device" other
sed '1 s/$/,machine/; 2,$ s/$/,Xavier/' "$inputs/device/measurements.csv" >other/measurements.csv
assay fingerprint fit --data one --data other -o d.fp | sed -n '1,2 p'
