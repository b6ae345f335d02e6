assay run faster-rcnn street.jpg
