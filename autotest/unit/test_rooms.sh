#!/bin/sh
# test_rooms.sh [DRIVER]: each room uses those below it and never one above (doc/contributing.md, "Rooms"), and has no more lines than its budget.
cd "${1:-$(dirname "$0")/../../driver}" || exit 1
failed=0
above=
complain()
{
    echo "$1"
    failed=1
}
for room in gdal validate raster geo array shard icechunk codec zarr store base; do
    [ -d "$room" ] || complain "there is no room $room"
    if [ -n "$above" ]; then
        upward=$(grep -nE "#include \"($above)/" "$room"/*.[ch])
        [ -z "$upward" ] || complain "$room/ includes a room above it: $upward"
        classes=$(grep -nE '#include [<"](gdal_priv|gdal_pam|ogr_spatialref|cpl_[a-z_]*_cpp)[._h]' "$room"/*.[ch])
        [ -z "$classes" ] || complain "C++ classes of GDAL are for gdal/ alone: $classes"
    fi
    above="$above${above:+|}$room"
done
# The most lines of each room: its budget, or where it is over that what it has, with air for a mend. A number only goes down.
while read -r room most; do
    lines=$(find "$room" -name '*.c' -o -name '*.h' -o -name '*.cpp' | xargs cat | wc -l)
    [ "$lines" -le "$most" ] || complain "$room/ has $lines lines, expected at most $most"
done <<END
gdal 14120
validate 1200
raster 4600
geo 7200
array 5200
shard 1900
icechunk 1415
codec 4400
zarr 5850
store 4500
base 1500
END
for path in */; do
    room=${path%/}
    case "|$above|doc|python|" in
    *"|$room|"*) ;;
    *) complain "$room/ is no room: say in doc/contributing.md what it knows, and here which rooms it may use" ;;
    esac
    [ $room = doc ] || grep -q "^| .$room. |" doc/contributing.md || complain "doc/contributing.md does not say what $room/ knows"
done
# The two faces of gdal/ share what lies in gdal/ itself and in gdal/create/, and know nothing of each other. gdal/ asks
# them by gdal/driver.h.
crossing=$(grep -n '#include "gdal/multidim/' gdal/raster/* gdal/create/*; grep -n '#include "gdal/raster/' gdal/multidim/*)
[ -z "$crossing" ] || complain "one face includes the other: $crossing"
inside=$(grep -nE '#include "(gdal/)?(raster|multidim)/[a-z_]*\.h"' gdal/*.h gdal/*.cpp | grep -E '"gdal/|"multidim/')
[ -z "$inside" ] || complain "gdal/ includes the inside of a face: $inside"
# validate/ is a program: no file of the plugin includes it.
validating=$(grep -n '#include "validate/' gdal/*.h gdal/*.cpp gdal/*/*)
[ -z "$validating" ] || complain "validate/ is a program, not a room of the plugin: $validating"
# What GDAL's file systems are like is known in one place.
others=$(grep -l '#include <cpl_vsi' ./*/*.[ch] | grep -v '^./store/vsi')
[ -z "$others" ] || complain "cpl_vsi.h is for store/vsi*.c: $others"
# Two windows of code fit side by side, and a printed page.
wide=$(LC_ALL=C.UTF-8 grep -nE '^.{121}' ./*/*.[ch] gdal/*.cpp gdal/*/*.h gdal/*/*.cpp ../include/*.h)
[ -z "$wide" ] || complain "more than 120 columns: $wide"
exit $failed
