assay prune resnet18 --percent 96 -o x.net; code=$?; ls; exit $code
