# Runs a model.
cp "$inputs/../../../assets/coffee.jpg" .
assay run faster-rcnn coffee.jpg --min-size 64 --iters 1 --warmup 0 --tune 0.01 --score 0 --html report.html --pictures |
    sed -n 's/[0-9.]* [kM]B/SIZE/; s/\(report.html\).*/\1/p'
grep -o '"name":"coffee_targets.jpg","type":"image/jpeg","bytes":"/9j/' report.html
