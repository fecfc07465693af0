/// The JSON document of one file: what is in it and, where it cannot be read as what it is meant to be, the keys of the
/// error too.
struct InspectionRecord: Encodable {
  let inspection: FileInspection

  func encode(to encoder: any Encoder) throws {
    try inspection.encode(to: encoder)
    if let problem = inspection.problem { try FailureRecord(problem, type: "error").encode(to: encoder) }
  }
}
