import GodwitJob
import GodwitModel
import GodwitStore

/// Values that a SQLite store holds and an atomic one cannot.
extension SourceAudit {
  /// The check that the destination's type of store can hold a value; nil where it holds all values of the attribute.
  func storeTypeCheck(
    _ attribute: AttributeDescription, in mapping: ResolvedEntityMapping, value: String
  ) -> Check? {
    guard job.needsBytesOfFiles else { return nil }
    let fault: (message: String, condition: String)
    switch attribute.type {
    case .string, .uri:
      fault = (
        "a text has bytes that are not UTF-8", "typeof(\(value)) = 'text' AND NOT godwit_utf8(\(value))"
      )
    case .transformable where job.destinationType == .binary:
      fault = (
        "a transformable value is not a keyed archive of one object",
        "typeof(\(value)) = 'blob' AND NOT godwit_archive(\(value))"
      )
    default: return nil
    }
    return Check(
      kind: .unwritable, model: resolved.destinationModel.name, entity: mapping.source.name, property: attribute.name,
      mapping: mapping.name,
      message: "\(fault.message), which \(job.destinationType == .xml ? "an XML" : "a binary") store cannot hold",
      condition: fault.condition, value: value, key: "t.Z_PK")
  }
}
