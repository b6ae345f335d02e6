assay import "$inputs/small.json" --buffer 1M --temporary . | tail -n 1
assay import "$inputs/small.json" --temporary nowhere | tail -n 1
assay import "$inputs/small.json" --buffer 1k
