/// The JSON document of one file: its content and, if it cannot be read as its kind, the keys of the error.
struct InspectionRecord: Encodable {
  let inspection: FileInspection

  func encode(to encoder: any Encoder) throws {
    try inspection.encode(to: encoder)
    if let problem = inspection.problem { try FailureRecord(problem, type: "error").encode(to: encoder) }
  }
}
