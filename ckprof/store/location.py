"""Where a store may lie."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof.store.errors import NetworkStoreError

if TYPE_CHECKING:
    from pathlib import Path

#: File systems on which several machines, or a machine and its guest, see the same files: locks and shared
#: memory of SQLite do not work there.
NETWORK_FILE_SYSTEMS: Final = frozenset(
    {
        *(
            "nfs",
            "nfs3",
            "nfs4",
            "cifs",
            "smb",
            "smb2",
            "smb3",
            "smbfs",
            "afs",
            "auristorfs",
            "coda",
            "ncpfs",
        ),
        *("lustre", "gpfs", "beegfs", "ceph", "glusterfs", "panfs", "pvfs2", "orangefs", "wekafs", "vastnfs"),
        *("ocfs2", "gfs2", "9p", "virtiofs", "davfs", "acfs", "quobyte", "daos", "dvs"),
        *("fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.juicefs", "fuse.s3fs", "fuse.gcsfuse"),
        *("fuse.rclone", "fuse.dfuse", "fuse.mfs", "fuse.davfs"),
    }
)


def file_system_of(path: Path) -> str:
    """Return the type of the file system that a path lies on, empty where the system does not say."""
    import psutil

    resolved = path.resolve()
    found, depth = "", -1
    for partition in psutil.disk_partitions(all=True):
        mount = type(resolved)(partition.mountpoint)
        # the last of several on one mount point is the one that is seen
        if len(mount.parts) >= depth and (mount == resolved or mount in resolved.parents):
            found, depth = partition.fstype, len(mount.parts)
    return found


def check_location(path: Path) -> None:
    """Reject a store on a network file system.

    :raises NetworkStoreError: it lies on one; the message names the remedy.
    """
    kind = file_system_of(path.parent)
    if kind in NETWORK_FILE_SYSTEMS:
        raise NetworkStoreError(
            f"the store lies on a network file system ({kind}), where several writers damage databases; "
            "put it on a local disk, and let jobs on other machines write shards: --store DIRECTORY/ there, "
            "'ckprof results merge' where the store is",
            path,
        )
