# A number of classes that does not fit the labels of the dataset.
for label in '\003' '\005'; do
    printf "$label"
    head -c 3072 /dev/zero
done >data_batch_1.bin
for i in 2 3 4 5; do cp data_batch_1.bin "data_batch_$i.bin"; done
seq 10 >batches.meta.txt
cat >c.toml <<END
[model]
name = "resnet18"
num_classes = 11
[dataset]
kind = "cifar10"
root = "."
END
assay train c.toml >screen
echo $?
assay train c.toml --set model.num_classes=12 >screen
