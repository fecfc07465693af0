/// The rules of Kubernetes for a Job of `batch/v1`, written down from the published reference and from the checks of
/// the API server: for the tests of manifests, without a cluster.
struct JobRules {
  private(set) var findings: [String] = []

  typealias Object = [String: Any]

  /// The keys of each object of a manifest that Godwit may write; the server refuses an unknown key under strict
  /// validation.
  private static let keys: [String: Set<String>] = [
    "": ["apiVersion", "kind", "metadata", "spec"],
    "metadata": ["name", "labels"],
    "spec": [
      "completionMode", "completions", "parallelism", "suspend", "backoffLimit", "backoffLimitPerIndex",
      "maxFailedIndexes", "podFailurePolicy", "template",
    ],
    "rule": ["action", "onExitCodes", "onPodConditions"],
    "onExitCodes": ["containerName", "operator", "values"],
    "condition": ["type", "status"],
    "pod": ["restartPolicy", "terminationGracePeriodSeconds", "containers", "volumes"],
    "container": ["name", "image", "command", "args", "env", "resources", "volumeMounts"],
    "resources": ["requests", "limits"],
  ]

  static func findings(_ job: Object) -> [String] {
    var rules = JobRules()
    rules.check(job)
    return rules.findings
  }

  private mutating func expect(_ holds: Bool, _ what: String) { if !holds { findings.append(what) } }

  private mutating func known(_ object: Object, _ place: String) {
    for key in object.keys where Self.keys[place]?.contains(key) != true { findings.append("unknown \(place).\(key)") }
  }

  /// A name of DNS: what the names of a job, and of the pods that it makes, must be.
  private static func isLabel(_ name: String) -> Bool {
    name.utf8.count <= 63 && name.wholeMatch(of: /[a-z0-9]([-a-z0-9]*[a-z0-9])?/) != nil
  }

  private static func isLabelValue(_ value: Any) -> Bool {
    guard let text = value as? String, text.utf8.count <= 63 else { return false }
    return text.isEmpty || text.wholeMatch(of: /[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?/) != nil
  }

  private mutating func check(_ job: Object) {
    known(job, "")
    expect(job["apiVersion"] as? String == "batch/v1" && job["kind"] as? String == "Job", "kind")
    let metadata = job["metadata"] as? Object ?? [:]
    known(metadata, "metadata")
    let name = metadata["name"] as? String ?? ""
    labels(metadata["labels"])
    let spec = job["spec"] as? Object ?? [:]
    known(spec, "spec")
    let completions = spec["completions"] as? Int
    // An index is a suffix of the pod's name.
    expect(Self.isLabel("\(name)-\((completions ?? 1) - 1)"), "metadata.name \(name)")
    let template = spec["template"] as? Object ?? [:]
    labels((template["metadata"] as? Object)?["labels"])
    let pod = template["spec"] as? Object ?? [:]
    check(pod: pod)
    check(counts: spec, isIndexed: spec["completionMode"] as? String == "Indexed")
    guard let policy = spec["podFailurePolicy"] as? Object else {
      return expect(spec["podFailurePolicy"] == nil, "podFailurePolicy")
    }
    expect(pod["restartPolicy"] as? String == "Never", "podFailurePolicy needs restartPolicy Never")
    let rules = policy["rules"] as? [Object] ?? []
    expect((1...20).contains(rules.count), "podFailurePolicy.rules")
    let containers = (pod["containers"] as? [Object] ?? []).compactMap { $0["name"] as? String }
    for rule in rules { check(rule: rule, hasLimitPerIndex: spec["backoffLimitPerIndex"] != nil, containers) }
  }

  private mutating func labels(_ value: Any?) {
    let labels = value as? Object ?? [:]
    expect(!labels.isEmpty && labels.values.allSatisfy(Self.isLabelValue), "labels")
  }

  private mutating func check(counts spec: Object, isIndexed: Bool) {
    for key in ["completions", "parallelism", "backoffLimit", "backoffLimitPerIndex", "maxFailedIndexes"] {
      guard let value = spec[key] else { continue }
      expect((value as? Int).map { $0 >= 0 } ?? false, "spec.\(key)")
    }
    if let value = spec["suspend"] { expect(value is Bool, "spec.suspend") }
    let failed = spec["maxFailedIndexes"] as? Int
    if isIndexed {
      let completions = spec["completions"] as? Int
      expect(completions != nil, "an Indexed Job needs completions")
      expect((spec["parallelism"] as? Int ?? 1) <= 100_000, "spec.parallelism")
      expect((failed ?? 0) <= (completions ?? 0), "maxFailedIndexes is above completions")
      expect(failed == nil || spec["backoffLimitPerIndex"] != nil, "maxFailedIndexes needs backoffLimitPerIndex")
    } else {
      expect(spec["completionMode"] == nil, "spec.completionMode")
      expect(failed == nil && spec["backoffLimitPerIndex"] == nil, "only an Indexed Job has limits per index")
    }
  }

  private mutating func check(rule: Object, hasLimitPerIndex: Bool, _ containers: [String]) {
    known(rule, "rule")
    let action = rule["action"] as? String ?? ""
    expect(["FailJob", "FailIndex", "Ignore", "Count"].contains(action), "rule.action")
    expect(action != "FailIndex" || hasLimitPerIndex, "FailIndex needs backoffLimitPerIndex")
    let codes = rule["onExitCodes"] as? Object
    let conditions = rule["onPodConditions"] as? [Object]
    expect((codes == nil) != (conditions == nil), "a rule has exit codes or conditions")
    if let codes {
      known(codes, "onExitCodes")
      let isIn = codes["operator"] as? String == "In"
      expect(isIn || codes["operator"] as? String == "NotIn", "onExitCodes.operator")
      if let name = codes["containerName"] { expect(containers.contains(name as? String ?? ""), "containerName") }
      let values = codes["values"] as? [Int] ?? []
      expect((1...255).contains(values.count), "onExitCodes.values")
      expect(zip(values, values.dropFirst()).allSatisfy { $0 < $1 }, "onExitCodes.values: ordered, each once")
      expect(!isIn || !values.contains(0), "onExitCodes.values has 0")
    }
    for condition in conditions ?? [] {
      known(condition, "condition")
      expect(condition["type"] is String, "condition.type")
      // YAML's own true is not a text.
      expect(["True", "False", "Unknown"].contains(condition["status"] as? String ?? ""), "condition.status")
    }
  }

  private mutating func check(pod: Object) {
    known(pod, "pod")
    expect(["Never", "OnFailure"].contains(pod["restartPolicy"] as? String ?? ""), "restartPolicy")
    let volumes = (pod["volumes"] as? [Object] ?? []).compactMap { $0["name"] as? String }
    let containers = pod["containers"] as? [Object] ?? []
    expect(!containers.isEmpty, "containers")
    for container in containers {
      known(container, "container")
      expect(Self.isLabel(container["name"] as? String ?? ""), "container.name")
      expect((container["image"] as? String)?.isEmpty == false, "container.image")
      for key in ["command", "args"] where container[key] != nil { expect(container[key] is [String], key) }
      for variable in container["env"] as? [Object] ?? [] {
        let name = variable["name"] as? String ?? ""
        expect(name.wholeMatch(of: /[-._a-zA-Z][-._a-zA-Z0-9]*/) != nil && variable["value"] is String, "env \(name)")
      }
      known(container["resources"] as? Object ?? [:], "resources")
      for mount in container["volumeMounts"] as? [Object] ?? [] {
        let path = mount["mountPath"] as? String ?? ""
        expect(volumes.contains(mount["name"] as? String ?? ""), "a mount needs its volume")
        expect(path.hasPrefix("/") && !path.contains(":"), "mountPath \(path)")
      }
    }
  }
}
