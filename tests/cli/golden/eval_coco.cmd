cat >gt.json <<'END'
{"images": [{"id": 1, "file_name": "a.jpg", "width": 400, "height": 300},
            {"id": 2, "file_name": "b.jpg", "width": 400, "height": 300}],
 "categories": [{"id": 1, "name": "dog"}, {"id": 2, "name": "cat"},
                {"id": 3, "name": "cow"}],
 "annotations": [
  {"id": 1, "image_id": 1, "category_id": 1, "bbox": [10, 10, 20, 20], "area": 400, "iscrowd": 0},
  {"id": 2, "image_id": 1, "category_id": 2, "bbox": [100, 100, 200, 100], "area": 20000, "iscrowd": 0},
  {"id": 3, "image_id": 2, "category_id": 1, "bbox": [0, 0, 50, 50], "area": 2500, "iscrowd": 1}]}
END
cat >dt.json <<'END'
[{"image_id": 1, "category_id": 1, "bbox": [10, 10, 20, 20], "score": 0.9},
 {"image_id": 1, "category_id": 2, "bbox": [100, 100, 200, 80], "score": 0.8},
 {"image_id": 2, "category_id": 1, "bbox": [10, 10, 20, 20], "score": 0.7},
 {"image_id": 2, "category_id": 9, "bbox": [10, 10, 20, 20], "score": 0.6}]
END
assay eval --results dt.json --annotations gt.json --dataset coco
assay eval -r dt.json -a gt.json --md
assay eval -r dt.json -a gt.json --csv
assay eval -r dt.json -a gt.json --plot curve.svg --class cat -o figures.txt | sed 's/  [0-9.]* .B$//'
head -c 5 curve.svg
