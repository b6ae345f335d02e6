assay run resnet18 --random --time-limit 5m
assay run resnet18 --random --tune 2h
assay campaign run.ini --timeout soon
