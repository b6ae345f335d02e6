cp "$inputs/small.json" .
gzip -c small.json >zipped.json.gz
assay import zipped.json.gz | grep -v wrote
ls
