echo '{"images": [{"id": 1, "file_name": "a.jpg"}], "categories": [{"id": 1, "name": "dog"}], "annotations": []}' >gt.json
echo '[{"image_id": 5, "category_id": 1, "bbox": [1, 1, 2, 2], "score": 1}]' >dt.json
echo '[{"image_id": 1, "category_id": 1, "bbox": [1, 1, 2, 2], "score": NaN}]' >nan.json
: >empty.json
assay eval -r dt.json -a gt.json
assay eval -r nan.json -a gt.json
assay eval -r empty.json -a gt.json
assay eval -r dt.json
assay eval -r dt.json -a gt.json --dataset voc --iou segm
assay eval -r dt.json -a gt.json --min-overlap 0.7
assay eval -r dt.json -a gt.json --class dog
assay eval -r dt.json -a gt.json --plot curve.bmp
