# The header of a PNG of 20000x20000 pixels; nothing is decoded.
base64 -d >huge.png <<'PNG'
iVBORw0KGgoAAAANSUhEUgAATiAAAE4gCAAAAADGGxnlAAAADElEQVR42mNgoD0AAABkAAG4
me+ZAAAAAElFTkSuQmCC
PNG
assay run faster-rcnn huge.png
