#!/bin/sh
# own_mounts.sh COMMAND...: runs a command in a mount namespace of its own: what it mounts is gone with it. Fails where that is not allowed.
propagation=private
unshare --mount true 2>/dev/null || propagation=unchanged # all that is allowed in a chroot whose / is no mount point
exec unshare --mount --propagation $propagation "$@"
