#!/bin/sh
# Becomes systemd: process 1 of the namespaces that booted_systemd.py has made. Arguments: an empty folder to work in, and
# pairs FROM TO of folders that shall be seen inside. Nothing that is written inside reaches the host.
set -eu
folder=$1
shift
mount --make-rprivate /
mount -t tmpfs none "$folder"
mkdir "$folder/changes" "$folder/work" "$folder/new"
new=$folder/new
mount -t overlay -o "lowerdir=/,upperdir=$folder/changes,workdir=$folder/work" none "$new"
while [ $# -ge 2 ]; do
    mkdir -p "$new$2"
    mount --bind "$1" "$new$2"
    shift 2
done
for place in run tmp dev; do mount -t tmpfs -o mode=0755 none "$new/$place"; done
chmod 1777 "$new/tmp"
mount -t proc none "$new/proc"
# Settings of the kernel belong to the host, and a read-only /sys keeps systemd from managing devices.
mount -t sysfs -o ro none "$new/sys"
mount -t cgroup2 none "$new/sys/fs/cgroup"
mount --bind -o ro "$new/proc/sys" "$new/proc/sys" && mount -o remount,ro,bind "$new/proc/sys"
for device in null zero full random urandom tty; do
    : >"$new/dev/$device"
    mount --bind "/dev/$device" "$new/dev/$device"
done
mkdir "$new/dev/shm" "$new/dev/pts"
mount -t tmpfs -o mode=1777 none "$new/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 none "$new/dev/pts"
ln -s pts/ptmx "$new/dev/ptmx"
ln -s /proc/self/fd "$new/dev/fd"
ip link set lo up
# A machine of its own, without the host's services, mounts and hardware.
: >"$new/etc/machine-id"
: >"$new/etc/fstab"
rm -rf "$new"/etc/systemd/system/*.wants
for unit in console-getty getty@tty1 systemd-logind systemd-networkd systemd-resolved systemd-timesyncd systemd-udevd \
    systemd-udev-trigger systemd-modules-load systemd-sysctl systemd-binfmt systemd-remount-fs systemd-random-seed \
    systemd-tmpfiles-setup-dev; do
    ln -sf /dev/null "$new/etc/systemd/system/$unit.service"
done
for unit in systemd-udevd-control.socket systemd-udevd-kernel.socket dev-hugepages.mount dev-mqueue.mount \
    sys-kernel-debug.mount sys-kernel-tracing.mount sys-kernel-config.mount sys-fs-fuse-connections.mount \
    proc-sys-fs-binfmt_misc.automount; do
    ln -sf /dev/null "$new/etc/systemd/system/$unit"
done
cd "$new"
mkdir -p mnt
pivot_root . mnt
umount -l /mnt
# Services get their credentials through a mount that must spread into their namespaces.
mount --make-rshared /
exec env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --unit=multi-user.target --log-target=journal
