# Parameters of devices with lanes are not shown for other devices, and vice
# versa.
parameters() {
    assay fingerprint fit --data "$1" --train tiny:0,40,80,small -o d.fp >wrote || cat wrote
    assay fingerprint show d.fp | sed -n '/^physical/,$ { s/^\(  [a-z0-9_]*\).*/\1/; p }'
}
parameters "$inputs/device" >without
mkdir lanes
cp "$inputs"/device/* lanes
sed '1 s/$/,lane/; 2,$ s/$/,16/' "$inputs/device/measurements.csv" >lanes/measurements.csv
parameters lanes >with
cat without
diff without with || true
