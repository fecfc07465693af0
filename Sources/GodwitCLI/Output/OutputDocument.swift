/// The kinds of JSON that the command prints. Each has a schema of its name, `godwit schema NAME`.
enum OutputKind: String, CaseIterable {
  case audit, compact, discard, error, export, `init`, inspect, lint, log, plan, progress, results, salvage, schemas,
    status
  case stores, test, trace, verify, why
  case exportRaw = "export-raw"
  case makeStore = "make-store"
  case mappingResult = "mapping-result"
  case modelDiff = "model-diff"
  case modelExtract = "model-extract"
  case modelHash = "model-hash"
  case modelSchema = "model-schema"
  case planDifference = "plan-diff"
  case policyStub = "policy-stub"

  /// Raised when a key goes, gets another name or changes its meaning. A key that is new does not raise it.
  static let version = 1
}

/// A document with what every JSON document has: `schemaVersion` and `type`.
///
/// A value that has a key of these names itself keeps it.
struct OutputDocument<Value: Encodable>: Encodable {
  private let kind: OutputKind
  private let value: Value

  private enum CodingKeys: String, CodingKey { case schemaVersion, type }

  init(_ kind: OutputKind, _ value: Value) { (self.kind, self.value) = (kind, value) }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(OutputKind.version, forKey: .schemaVersion)
    try container.encode(kind.rawValue, forKey: .type)
    try value.encode(to: encoder)
  }
}
