#!/usr/bin/env bash
# An array of Slurm, one task a shard. Change the limits, and submit it from the folder of the job:
#
#   sbatch --array=1-100 slurm.sh JOB.yaml
#
# All nodes need the folder at the same path, on a file system whose locks hold between machines.
#SBATCH --job-name=godwit
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=godwit-%a.log
#SBATCH --cpus-per-task=1
#SBATCH --mem=256M
#SBATCH --time=01:00:00
#SBATCH --signal=B:TERM@120
set -uo pipefail

godwit run "$1" --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" --quiet --worker &
# Two minutes before the limit the shard stops at a checkpoint.
trap 'kill -TERM $!' TERM
wait $!
# The trap ends a wait.
while kill -0 $! 2>/dev/null; do wait $!; done
wait $!
status=$?

# 75: the same command goes on. A node that dies needs no word: --requeue has Slurm run its tasks elsewhere.
if [ "$status" = 75 ] && [ "${SLURM_RESTART_COUNT:-0}" -lt 20 ]; then
  scontrol requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"
  sleep 60
fi
# 3: all stores are migrated, and some have objects in quarantine. For Slurm that is no failure.
if [ "$status" = 3 ]; then
  echo "shard $SLURM_ARRAY_TASK_ID: objects are in quarantine, see godwit status"
  exit 0
fi
exit "$status"
