COLUMNS=100 assay layers faster-rcnn | sed -n '1,5p; /roi_heads/p; /^total/,$p'
