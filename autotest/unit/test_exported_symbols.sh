#!/bin/sh
# test_exported_symbols.sh PLUGIN: the plugin exports GDALRegister_ShardedZarr and nothing else.
# Anything more could be mistaken for a symbol of GDAL or of another plugin in the same process.
exported=$(nm -D --defined-only "$1" | awk '{print $NF}')
[ "$exported" = GDALRegister_ShardedZarr ] && exit 0
echo "$1 should export GDALRegister_ShardedZarr alone; it exports:"
echo "$exported"
exit 1
