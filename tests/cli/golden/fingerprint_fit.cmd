assay fingerprint fit --data "$inputs/device" --train tiny:0,40,80,small --device 'a device' -o d.fp |
    sed 's/  [0-9.]* [kMG]*B$//; s/[0-9][0-9]*\.[0-9] %/# %/g; s/# %  */# %  /'
head -n 5 d.fp
tail -n 1 d.fp
