mkdir -p xml found
for i in 1 2; do
    cat >xml/$i.xml <<'END'
<annotation><object><name>dog</name><bndbox><xmin>1</xmin><ymin>1</ymin>
<xmax>10</xmax><ymax>10</ymax></bndbox></object><object><name>dog</name>
<difficult>1</difficult><bndbox><xmin>50</xmin><ymin>1</ymin><xmax>60</xmax>
<ymax>10</ymax></bndbox></object></annotation>
END
done
printf '1 0.9 1 1 10 10\n2 0.8 100 1 110 10\n2 0.7 1 1 10 9\n' >found/comp4_det_test_dog.txt
assay eval --dataset voc -r found -a xml
