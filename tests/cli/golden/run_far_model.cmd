assay run efficientdet "$inputs/../../../assets/coffee.jpg"
