XDG_CACHE_HOME=$PWD no_proxy=127.0.0.1 assay weights fetch \
    --url http://127.0.0.1:1 ssd300_vgg16
code=$?
find . -type f
exit $code
