#!/run/vm/busybox sh
# SPDX-License-Identifier: Apache-2.0
# Pid 1 in the real root. Plain: prepares the machine, runs the job, powers off. Systemd: leaves
# units behind in /run and becomes systemd, which runs the job.
b=/run/vm/busybox
. /run/vm/settings
export PATH="$VM_PATH"
cgroot=/sys/fs/cgroup

# What is beneath /tmp or /run on the host and wanted here comes back over the fresh mounts.
mount_files() {
	$b mkdir -p /dev/pts /dev/shm /run/lock /run/vm/host
	$b mount -t devpts -o gid=5,mode=620,ptmxmode=666 devpts /dev/pts
	$b mount -t tmpfs -o nosuid,nodev,mode=1777 shm /dev/shm
	$b ln -s /proc/self/fd /dev/fd
	$b ln -s fd/0 /dev/stdin
	$b ln -s fd/1 /dev/stdout
	$b ln -s fd/2 /dev/stderr
	$b mount --bind / /run/vm/host
	$b mount -t tmpfs -o nosuid,nodev,mode=1777 tmp /tmp
	$b echo "$VM_SHARE" | while read -r dir; do
		case "$dir" in
		/tmp/* | /run/*)
			$b mkdir -p "$dir"
			$b mount --bind "/run/vm/host$dir" "$dir"
			;;
		esac
		# An ordinary user must get there, wherever the checkout is.
		while [ "$dir" != / ] && [ -n "$dir" ]; do
			$b chmod a+rx "$dir"
			dir=$($b dirname "$dir")
		done
	done
	$b umount -l /run/vm/host
	$b rmdir /run/vm/host
}

mount_cgroups() {
	case "$VM_CGROUP" in
	v2)
		$b mount -t cgroup2 cgroup2 $cgroot
		;;
	v1 | hybrid)
		$b mount -t tmpfs -o mode=0755 cgroups $cgroot || return
		for set in cpu,cpuacct memory pids devices freezer; do
			$b mkdir "$cgroot/$set" || return
			$b mount -t cgroup -o "$set" cgroup "$cgroot/$set" || return
		done
		$b ln -s cpu,cpuacct $cgroot/cpu
		$b ln -s cpu,cpuacct $cgroot/cpuacct
		if [ "$VM_CGROUP" = hybrid ]; then
			$b mkdir $cgroot/unified || return
			$b mount -t cgroup2 cgroup2 $cgroot/unified
		fi
		;;
	esac
}

# A cgroup as a system manager delegates it: the directory and its three files that move tasks.
delegate_cgroup() {
	for controller in cpu memory pids; do
		$b echo "+$controller" >$cgroot/cgroup.subtree_control || return
	done
	$b mkdir $cgroot/user-test || return
	for file in "" /cgroup.procs /cgroup.threads /cgroup.subtree_control; do
		$b chown "$VM_UID" "$cgroot/user-test$file" || return
	done
}

add_user() {
	if ! $b grep -q '^tester:' /etc/passwd; then
		$b echo 'tester:x:1234:1234::/home/tester:/bin/sh' >>/etc/passwd
		$b echo 'tester:x:1234:' >>/etc/group
		$b echo 'tester:!:19000::::::' >>/etc/shadow
	fi
	$b mkdir -p /home/tester
	$b chown 1234:1234 /home/tester
}

set_sysctls() {
	$b echo "$VM_SYSCTL" | while IFS='=' read -r key value; do
		[ -z "$key" ] && continue
		$b echo "$value" >"/proc/sys/$($b echo "$key" | $b tr . /)" || return
	done
}

use_systemd() {
	# Only what the job pulls in: all else costs an emulated machine seconds.
	$b rm -rf /lib/systemd/system/*.wants/* /etc/systemd/system/*.wants /etc/systemd/user/*.wants
	$b rm -rf /lib/systemd/system-generators /lib/systemd/user-generators /etc/rc?.d
	$b ln -s ../dbus.socket /lib/systemd/system/sockets.target.wants/
	$b mkdir -p /run/systemd/system /var/lib/systemd/linger
	: >/var/lib/systemd/linger/tester
	$b cat >/run/systemd/system/vm.target <<-'UNIT'
		[Unit]
		Requires=vm-job.service
		AllowIsolate=yes
	UNIT
	$b cat >/run/systemd/system/vm-job.service <<-UNIT
		[Unit]
		Wants=systemd-logind.service dbus.service user@1234.service
		After=systemd-logind.service dbus.service user@1234.service
		FailureAction=poweroff-immediate
		[Service]
		Type=oneshot
		ExecStart=/run/vm/report
		StandardOutput=null
		StandardError=null
	UNIT
	exec /lib/systemd/systemd --unit=vm.target --show-status=0 --log-target=console
}

prepare() {
	# A container's mark on the host must not make this one.
	$b rm -f /.dockerenv
	$b hostname vm
	$b ip link set lo up &&
		mount_files &&
		add_user &&
		set_sysctls
}

prepare || $b touch /run/vm/setup-failed
[ "$VM_INIT" = systemd ] && use_systemd
mount_cgroups || $b touch /run/vm/setup-failed
if [ -n "$VM_DELEGATE" ]; then
	delegate_cgroup || $b touch /run/vm/setup-failed
	export VM_PLACE=$cgroot/user-test/cgroup.procs
fi
/run/vm/report
$b poweroff -f
