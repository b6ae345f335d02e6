assay import "$inputs/steady.json" -o a/run.assay 2>&1 | sed 's/^.*/missing folder/'
mkdir a
assay import "$inputs/steady.json" -o a/run.assay >/dev/null
assay tensorboard a/run.assay -o board/deep | sed 's/  [0-9.]* [kMG]*B$//'
find board -type f
assay tensorboard a/run.assay -o slash/ | sed 's/  [0-9.]* [kMG]*B$//'
echo text >file
assay tensorboard a/run.assay -o file
echo "exit $?"
