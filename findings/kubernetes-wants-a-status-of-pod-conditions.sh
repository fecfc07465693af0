#!/usr/bin/env bash
# Up to Kubernetes 1.34 a condition in `onPodConditions` needs its `status`, although `True` is the documented default.
#
# Guess: `- type: DisruptionTarget` alone is valid in each version that has pod failure policies.
# Seen: kubernetes-validate 1.37.0 (PyPI), which has the schemas of the API: refused from 1.28 to 1.34, valid from 1.35.
# A manifest of a job that names 1.29 as its oldest version must write `status: "True"`.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q kubernetes-validate==1.37.0
cat >job.yaml <<'YAML'
apiVersion: batch/v1
kind: Job
metadata: {name: migration}
spec:
  podFailurePolicy:
    rules:
      - action: Ignore
        onPodConditions:
          - type: DisruptionTarget
  template:
    spec:
      restartPolicy: Never
      containers: [{name: migration, image: migration}]
YAML
for version in 1.28 1.29 1.34 1.35 1.37; do
  venv/bin/kubernetes-validate -k "$version" --strict job.yaml >out 2>&1 && echo "$version valid" || echo "$version $(grep -o "'status' is a required property" out)"
done | tee seen
diff seen - <<'SEEN' || { echo 'changed'; exit 1; }
1.28 'status' is a required property
1.29 'status' is a required property
1.34 'status' is a required property
1.35 valid
1.37 valid
SEEN
