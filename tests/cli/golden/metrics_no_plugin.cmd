touch empty.so
assay metrics alexnet --metric nowhere.so
assay metrics alexnet --metric ./empty.so
