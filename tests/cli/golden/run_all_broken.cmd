echo no >a.jpg
head -c 4000 "$inputs/../../../assets/coffee.jpg" >b.jpg
assay run faster-rcnn a.jpg b.jpg
code=$?
ls
exit $code
