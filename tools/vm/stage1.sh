#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
# Pid 1 in the initramfs: loads modules, puts a tmpfs over the host's root, and goes there.
# A raw initramfs would not do: pivot_root is refused on it.
b=/bin/busybox
$b mkdir -p /proc /sys /dev /lower /upper /root
$b mount -t proc proc /proc
$b mount -t sysfs sysfs /sys
$b mount -t devtmpfs devtmpfs /dev

while read -r module; do
	$b insmod "/modules/$module" || $b echo "vm: cannot load $module"
done </modules/order

$b mount -t virtiofs -o ro host /lower || $b echo "vm: cannot mount the host's files"
$b mount -t tmpfs -o size=75%,mode=0755 upper /upper
$b mkdir /upper/upper /upper/work
# With handles for its files, as a disk would have.
options=index=on,nfs_export=on,lowerdir=/lower,upperdir=/upper/upper,workdir=/upper/work
$b mount -t overlay -o "$options" vmroot /root ||
	$b echo "vm: cannot mount the root"
# The overlay holds its own references.
$b umount -l /lower
$b umount -l /upper

$b mkdir -p /root/proc /root/sys /root/dev /root/run /root/tmp
$b mount -t tmpfs -o nosuid,nodev,mode=0755 run /root/run
$b cp -r /vm /root/run/vm
$b cp /bin/busybox /root/run/vm/busybox
for dir in proc sys dev; do
	$b mount --move "/$dir" "/root/$dir"
done
exec $b switch_root /root /run/vm/stage2
