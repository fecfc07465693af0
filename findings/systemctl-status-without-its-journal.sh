#!/usr/bin/env bash
# In a container of systemd-nspawn, `systemctl status` prints no journal from a unit that has ProtectControlGroups= or
# ProtectKernelTunables=. `journalctl --unit` prints it.
#
# Guess: these options make /sys and /proc/sys read-only, and reading the journal needs neither.
# Seen: systemd 252.39-1~deb12u2 (Debian 12). nspawn gives the container a boot identifier of its own, by a mount over
# /proc/sys/kernel/random/boot_id. Both options hide that mount, so that the unit reads the identifier of the machine, and
# `systemctl status` looks for entries of that boot. Other options, such as ProtectHostname=, change nothing.
# So jobs/deploy/godwit-alert@.service mails what journalctl prints. Needs root, for a container.
set -euo pipefail
if [ -z "${FINDING:-}" ]; then
  FINDING=$(mktemp -d /var/tmp/finding.XXXXXX)
  export FINDING
  trap 'rm -rf --one-file-system "$FINDING"' EXIT
  unshare --mount --pid --fork --mount-proc --kill-child "$0"
  exit
fi
cd "$FINDING"
for package in systemd systemd-container libsystemd-shared; do
  apt-get download -qq -o APT::Sandbox::User=root "$package=252.39-1~deb12u2"
done
mount --make-rprivate /
mkdir layers
mount -t tmpfs layers layers
mkdir layers/{up,work,root}
mount -t overlay machine -o "lowerdir=/,upperdir=layers/up,workdir=layers/work" layers/root
root=$PWD/layers/root
for package in *.deb; do dpkg-deb --fsys-tarfile "$package" | tar -x --keep-directory-symlink -C "$root"; done
rm -rf "$root"/etc/systemd/system/*.wants
printf '[Service]\nType=oneshot\nExecStart=/bin/sh -c "echo three words here; exit 3"\n' >"$root/etc/systemd/system/fails.service"

"$root/usr/bin/systemd-nspawn" --quiet --directory="$root" --boot --register=no --keep-unit --private-network \
  --machine=finding --console=pipe systemd.unit=basic.target >console 2>&1 </dev/null &
nspawn=$!
machine() { nsenter --target "$leader" --mount --uts --ipc --net --pid -- "$@"; }
leader=
for _ in $(seq 100); do
  leader=$(pgrep -P "$nspawn" -x systemd || true)
  [ -n "$leader" ] && machine systemctl is-system-running --wait >/dev/null 2>&1 && break
  kill -0 "$nspawn" 2>/dev/null || { cat console >&2 && exit 1; }
  sleep 0.2
done
machine systemctl start fails.service 2>/dev/null || true
machine journalctl --sync
# How often the words of the service stand in the journal that a command shows from a unit with a property.
lines() {
  local property=$1
  shift
  machine systemd-run --quiet --wait --pipe --property="$property" "$@" 2>/dev/null | grep -c 'sh\[[0-9]*\]: three words' || true
}
for property in ProtectHostname=yes ProtectControlGroups=yes ProtectKernelTunables=yes; do
  echo "$property: status $(lines "$property" systemctl status --no-pager fails.service)," \
    "journalctl $(lines "$property" journalctl --no-pager --unit=fails.service)"
done | tee seen
machine systemctl poweroff --no-block 2>/dev/null || true
wait "$nspawn" 2>/dev/null || true
umount layers/root layers 2>/dev/null || true
diff seen - <<'SEEN' || { echo 'changed'; exit 1; }
ProtectHostname=yes: status 1, journalctl 1
ProtectControlGroups=yes: status 0, journalctl 1
ProtectKernelTunables=yes: status 0, journalctl 1
SEEN
