# Every command that runs a model takes the same --device, and says what to do
# where there is no such device.
for words in "run resnet18 --random" "layers resnet18 --run" \
    "metrics resnet18" "train --synthetic"; do
    assay $words --device tpu 2>messages
    echo "$?"
    sed 's/available: cpu[^;]*/available: cpu/' messages
done
