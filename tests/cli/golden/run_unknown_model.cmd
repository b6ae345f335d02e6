assay run fastr-rcnn "$inputs/../../../assets/coffee.jpg"
