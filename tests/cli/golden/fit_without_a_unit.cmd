assay fit --synthetic --memory 8
echo "exit $?"
assay predict resnet18 --on none.fp --memory 7.6
echo "exit $?"
assay fit --synthetic --memory 900K
echo "exit $?"
