mkdir photos
echo notes >photos/notes.md
assay run faster-rcnn photos
