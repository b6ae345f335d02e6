# Runs a model.
assay run --full faster-rcnn "$inputs/../../../assets/coffee.jpg" --min-size 64 --tune 0.01 --precision-goal 0.001% --time-limit 0.001 |
    sed -n 's/ at [0-9.]* %/ at N %/; s/  *recorded for.*//; /^runs/,/^latency/ p' | sed '/^latency/d'
assay show run.assay --memory |
    sed -n 's/ *[0-9.]* *[0-9.]* %$//; /^=/p; /^[a-z]/p' | grep -v '^memory\|^taken\|^owner\|^scratch'
