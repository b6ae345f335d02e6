# Why it cannot be used depends on the machine.
printf "[training]\ndevice = \"cuda:0\"\n" >c.toml
CUDA_VISIBLE_DEVICES= assay train c.toml 2>messages
echo "$?"
sed 's/cannot be used: .*; --/cannot be used: WHY; --/' messages
