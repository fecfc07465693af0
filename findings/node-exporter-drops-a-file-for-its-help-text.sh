#!/usr/bin/env bash
# node_exporter leaves out the samples of a textfile whose HELP text differs from another file's, and reports success.
#
# Guess: two files may describe one metric in different words, or `node_textfile_scrape_error` becomes 1.
# Seen: prometheus-node-exporter 1.5.0-1+b6 (Debian 12): the second file's sample is missing, its mtime is exported as if
# it had been read, and `node_textfile_scrape_error` is 0. Only the log has an error, at each scrape. Two files with the
# same sample give the same result.
# Two versions of a program that write metrics into one folder must not differ in a HELP text.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"; [ -z "${exporter:-}" ] || kill "$exporter"' EXIT
cd "$work"
apt-get download -qq -o APT::Sandbox::User=root prometheus-node-exporter=1.5.0-1+b6
dpkg -x prometheus-node-exporter_*.deb root
mkdir metrics
for file in a b; do
  printf '# HELP jobs_left Jobs, as %s tells.\n# TYPE jobs_left gauge\njobs_left{job="%s"} 1\n' $file $file \
    >metrics/$file.prom
done
port=$((20000 + RANDOM % 20000))
root/usr/bin/prometheus-node-exporter --web.listen-address=127.0.0.1:$port --collector.disable-defaults \
  --collector.textfile --collector.textfile.directory=metrics 2>log &
exporter=$!
for _ in 1 2 3 4 5 6 7 8 9 10; do
  curl -sf "127.0.0.1:$port/metrics" >scrape && break
  sleep 0.5
done
{
  grep '^jobs_left' scrape
  grep -o '^node_textfile_mtime_seconds{[^}]*}' scrape
  grep '^node_textfile_scrape_error' scrape
  grep -c 'but should have' log
} | tee seen
diff seen - <<'SEEN' || { echo 'changed'; exit 1; }
jobs_left{job="a"} 1
node_textfile_mtime_seconds{file="metrics/a.prom"}
node_textfile_mtime_seconds{file="metrics/b.prom"}
node_textfile_scrape_error 0
1
SEEN
