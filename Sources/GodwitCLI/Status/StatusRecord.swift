import GodwitJob

/// The status as JSON: that of the library, and the result of `--check`.
struct StatusRecord: Encodable {
  /// The result of `--check`.
  struct Check: Encodable {
    let status, text: String

    init(_ check: StatusCheck) { (status, text) = (check.level.word, check.text) }
  }

  private let status: MigrationStatus
  private let check: Check?

  private enum CodingKeys: String, CodingKey { case check }

  init(_ status: MigrationStatus, check: StatusCheck? = nil) {
    (self.status, self.check) = (status, check.map(Check.init))
  }

  func encode(to encoder: any Encoder) throws {
    try status.encode(to: encoder)
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encodeIfPresent(check, forKey: .check)
  }
}
