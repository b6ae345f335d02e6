printf "[model]\nname = \"fasterrcnn_resnet50\"\n" >c.toml
assay train c.toml
