: >empty.txt
assay run faster-rcnn "$inputs/../../../assets/coffee.jpg" --labels empty.txt
assay run faster-rcnn "$inputs/../../../assets/coffee.jpg" --labels nowhere.txt
