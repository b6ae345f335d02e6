# 1x3000 pixels: at 1333, nothing is left of the width.
base64 -d >narrow.png <<'PNG'
iVBORw0KGgoAAAANSUhEUgAAAAEAAAu4CAAAAAAFvI0SAAAAH0lEQVR42u3CMQ0AAAACIKPa
P4UhfBmkAQAAAAAATgO0DmU9KLeXxgAAAABJRU5ErkJggg==
PNG
assay run faster-rcnn narrow.png
