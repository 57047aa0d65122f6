#!/run/vm/busybox sh
# SPDX-License-Identifier: Apache-2.0
# Runs the job and reports: its two outputs and its status each go to a port of their own. The
# command writes to pipes, as it would anywhere, and never sees a port.
b=/run/vm/busybox
. /run/vm/settings
export PATH="$VM_PATH"
# As a login session has them, not as the kernel hands them to pid 1.
ulimit -Hn 524288
ulimit -Sn 4096

port() {
	for dir in /sys/class/virtio-ports/*; do
		[ "$($b cat "$dir/name")" = "vm.$1" ] && $b echo "/dev/${dir##*/}"
	done
}

exec 3>"$(port status)"
if [ -e /run/vm/setup-failed ] || ! /run/vm/setup; then
	$b echo setup-failed >&3
	$b poweroff -f
fi >/dev/console 2>&1

$b mkfifo /run/vm/out /run/vm/err
$b cat /run/vm/out >"$(port out)" 3>&- &
out=$!
$b cat /run/vm/err >"$(port err)" 3>&- &
err=$!

# Moves itself, then becomes the command: it is alone there.
place='[ -z "$VM_PLACE" ] || echo $$ >"$VM_PLACE"; exec "$@"'
as_user="/usr/bin/setpriv --reuid $VM_UID --regid $VM_UID --clear-groups --"
[ "$VM_USER" = root ] && as_user=

$b echo start >&3
(exec $b sh -c "$place" place $as_user $b setsid /run/vm/command) \
	</dev/null >/run/vm/out 2>/run/vm/err 3>&-
status=$?

# What the command left running may still hold the pipes: give it a moment, no more.
($b sleep 5 && $b kill $out $err) 3>&- 2>/dev/null &
wait $out $err
$b echo "exit $status" >&3
$b poweroff -f
