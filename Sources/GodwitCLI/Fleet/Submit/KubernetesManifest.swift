import Foundation
import GodwitModel

/// Jobs of Kubernetes for a fleet: the canary, an Indexed Job with the other shards, and the report.
struct KubernetesManifest {
  let fleet: SubmittedFleet
  /// The folder that holds the fleet, here and in the containers.
  private let root: String

  /// - Throws: `.usage` when no volume could be mounted where the fleet is, or an option is not what Kubernetes takes.
  init(_ fleet: SubmittedFleet) throws {
    self.fleet = fleet
    root = try Self.commonFolder(of: [fleet.manifest, fleet.jobManifest, fleet.folder])
    guard !root.contains(":") else {
      throw GodwitError(
        .usage, "cannot mount a volume at '\(root)': Kubernetes takes no path with a colon",
        remedy: "rename the folder")
    }
    if let image = fleet.options.image {
      let isName = image.unicodeScalars.allSatisfy { $0.isASCII && $0.value > 32 && $0.value != 127 }
      guard isName, !image.isEmpty else {
        throw GodwitError(.usage, "--image '\(image)' is no name of an image: expected one without spaces")
      }
    }
    if let claim = fleet.options.claim {
      let isName = claim.wholeMatch(of: /[a-z0-9]([-a-z0-9.]*[a-z0-9])?/) != nil && claim.utf8.count <= 253
      guard isName else {
        throw GodwitError(
          .usage, "--claim '\(claim)' is no name of a volume claim: expected small letters, digits, '-' and '.'")
      }
    }
  }

  /// The fleet's name as a name of Kubernetes: a pod's name has 63 characters, with the job's suffix and an index.
  var name: String {
    let small = fleet.name.lowercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "-" }
    var name = String(small.drop { $0 == "-" }.prefix(40))
    while name.hasSuffix("-") { name.removeLast() }
    return name.isEmpty ? "fleet" : name
  }

  var text: String {
    var documents: [String] = []
    if fleet.hasCanary { documents.append(indexed("canary", shards: 0..<1, isSuspended: false)) }
    if !fleet.laterShards.isEmpty {
      documents.append(indexed("shards", shards: fleet.laterShards, isSuspended: fleet.hasCanary))
    }
    documents.append(report)
    return head + "\n" + documents.joined(separator: "---\n")
  }

  /// Statuses after which another pod would end in the same way. A full disk (74) may be empty then.
  static var finalStatuses: [Int32] {
    let codes: [GodwitError.Code] = [
      .findings, .usage, .dataWrong, .missingInput, .noPath, .internalBug, .cannotCreate, .permission, .configuration,
    ]
    return codes.map(\.rawValue).sorted()
  }

  private static let defaultParallelism = 32
  private static let defaultImage = "registry.example.org/godwit"

  private var turns: Int { fleet.options.seconds.map(fleet.turns) ?? 10 }

  private var head: String {
    var steps = ["kubectl apply -f FILE"]
    if fleet.hasCanary { steps.append("kubectl wait job/\(name)-canary --for=condition=complete --timeout=24h") }
    if fleet.hasCanary, !fleet.laterShards.isEmpty { steps.append(resumption("shards")) }
    if !fleet.laterShards.isEmpty { steps.append("kubectl get job/\(name)-shards --watch   # until it has ended") }
    steps += [resumption("report"), "kubectl logs --follow job/\(name)-report"]
    return """
      # Migrates the fleet '\(fleet.name)' on Kubernetes 1.29 or newer: \(fleet.size). `godwit fleet submit` made this
      # file. It follows the published rules of the API for batch/v1. It was never run on a cluster.
      #
      \(steps.map { "#   \($0)" }.joined(separator: "\n"))
      #
      # The claim holds what this folder has, with everything that the fleet and its job name, and is mounted there:
      # \(root)
      # Its access mode must let pods on all nodes write, and its file system must have locks. The image has godwit, a
      # shell and grep.
      #
      # A pod that stops at a checkpoint ends with 75, a failure that is tried again up to backoffLimitPerIndex times.

      """
  }

  private func resumption(_ job: String) -> String {
    "kubectl patch job/\(name)-\(job) --type=merge --patch '{\"spec\":{\"suspend\":false}}'"
  }

  private func indexed(_ suffix: String, shards: Range<Int>, isSuspended: Bool) -> String {
    let parallelism = min(fleet.options.throttle ?? Self.defaultParallelism, shards.count)
    return """
      \(metadata(suffix))
      spec:
        completionMode: Indexed
        completions: \(shards.count)
        parallelism: \(parallelism)
        suspend: \(isSuspended)
        backoffLimitPerIndex: \(turns)
        # The job fails when more shards have failed: what fails for so many fails for all.
        maxFailedIndexes: \(shards.count == 1 ? 0 : parallelism)
        podFailurePolicy:
          rules:
            # A pod that was evicted, or whose node was drained, is replaced and does not count.
            - action: Ignore
              onPodConditions:
                - { type: DisruptionTarget, status: "True" }
            # Another pod would end in the same way.
            - action: FailIndex
              onExitCodes:
                containerName: godwit
                operator: In
                values: [\(Self.finalStatuses.map(String.init).joined(separator: ", "))]
        template:
          metadata:
            labels: \(labels)
          spec:
            restartPolicy: Never
            terminationGracePeriodSeconds: 120
            containers:
              - name: godwit
      \(container)
                command: ["/bin/sh", "-c"]
                # Kubernetes turns two dollar signs into one.
                args:
                  - |
      \(Self.indented(worker(first: shards.lowerBound).replacing("$(", with: "$$("), by: 14))
      \(volumes)

      """
  }

  /// The shell's script of a pod.
  private func worker(first: Int) -> String {
    let limit = fleet.options.seconds.map { " --max-duration \($0)s" } ?? ""
    return """
      godwit=godwit
      \(WorkerScript.checkPlan)
      \(WorkerScript.runShard(options: limit))
      run_shard "$((JOB_COMPLETION_INDEX + \(first)))"
      exit "$ended"
      """
  }

  private var report: String {
    let arguments = [
      "godwit", "fleet", "merge", fleet.manifest, "-o", "\(fleet.folder)/\(SubmittedFleet.report)", "--results",
      "\(fleet.folder)/\(SubmittedFleet.results)", "--retry-list", "\(fleet.folder)/\(SubmittedFleet.retryList)",
    ]
    return """
      # Its status is that of the fleet: 3, 65 or 75 shows as a failed job.
      \(metadata("report"))
      spec:
        suspend: true
        backoffLimit: 0
        template:
          metadata:
            labels: \(labels)
          spec:
            restartPolicy: Never
            containers:
              - name: godwit
      \(container)
                command:
      \(arguments.map { "            - \(ScriptText.kubernetes($0))" }.joined(separator: "\n"))
      \(volumes)

      """
  }

  private var labels: String {
    "{ app.kubernetes.io/name: godwit, app.kubernetes.io/instance: \(ScriptText.yaml(name)) }"
  }

  private func metadata(_ suffix: String) -> String {
    """
    apiVersion: batch/v1
    kind: Job
    metadata:
      name: \(name)-\(suffix)
      labels: \(labels)
    """
  }

  private var container: String {
    let image = fleet.options.image ?? Self.defaultImage
    let values = [("fleet", fleet.manifest), ("folder", fleet.folder), ("plan", fleet.identity)]
    return Self.indented(
      """
      image: \(ScriptText.yaml(image))\(fleet.options.image == nil ? " # yours: --image" : "")
      env:
      \(values.map { "  - { name: \($0), value: \(ScriptText.kubernetes($1)) }" }.joined(separator: "\n"))
      resources:
        requests: { cpu: \(fleet.jobs), memory: \(fleet.memoryMiB)Mi }
        limits: { memory: \(fleet.memoryMiB)Mi }
      volumeMounts:
        - { name: fleet, mountPath: \(ScriptText.yaml(root)) }
      """, by: 10)
  }

  private var volumes: String {
    let isGiven = fleet.options.claim != nil
    return Self.indented(
      """
      volumes:
        - name: fleet
          persistentVolumeClaim:
            claimName: \(ScriptText.yaml(fleet.options.claim ?? "stores"))\(isGiven ? "" : " # yours: --claim")
      """, by: 6)
  }

  private static func indented(_ text: String, by columns: Int) -> String {
    let margin = String(repeating: " ", count: columns)
    return text.split(separator: "\n", omittingEmptySubsequences: false)
      .map { $0.isEmpty ? "" : margin + $0 }.joined(separator: "\n")
  }

  /// The deepest folder that has all of some files.
  private static func commonFolder(of paths: [String]) throws -> String {
    var common: [Substring]?
    for path in paths {
      let folder = path.split(separator: "/").dropLast()
      guard let known = common else {
        common = Array(folder)
        continue
      }
      let same = zip(known, folder).prefix { $0 == $1 }
      common = same.map(\.0)
    }
    guard let common, !common.isEmpty else {
      throw GodwitError(
        .usage, "cannot mount a volume: the fleet and its job have no folder in common",
        remedy: "keep the fleet's manifest, its folder and the job's manifest below one folder")
    }
    return "/" + common.joined(separator: "/")
  }
}
