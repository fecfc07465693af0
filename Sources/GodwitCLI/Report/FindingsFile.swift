import Foundation
import GodwitModel
import GodwitStore

/// The findings of `verify` or `audit`, from the JSON that it printed.
struct FindingsFile {
  /// One line of the table.
  struct Finding: Decodable {
    let kind: String
    let entity, property: String?
    let key, count: Int64?
    let message: String

    /// The object or property concerned.
    var place: String {
      let subject = (entity ?? "") + (property.map { ".\($0)" } ?? "")
      return subject + (key.map { "\(subject.isEmpty ? "" : " ")p\($0)" } ?? "")
    }
  }

  /// The parts of both documents that a report shows.
  private struct Document: Decodable {
    let type: String
    let schemaVersion: Int
    let isClean: Bool
    let findings: [Finding]
    let totalFindings: Int?
  }

  let path: String
  /// `verify` or `audit`.
  let type: String
  let isClean: Bool
  let findings: [Finding]
  let total: Int

  private static let limit = ByteCount.mebibytes(64)

  /// - Throws: 66 when the file is missing or cannot be read; 65 when it is something else.
  init(path: String) throws {
    self.path = path
    guard let bytes = try ReadableFile.bytes(of: path, limit: Self.limit) else {
      throw Self.notFindings(path, "it is larger than \(Self.limit)")
    }
    guard let document = try? JSONDecoder().decode(Document.self, from: bytes),
      document.schemaVersion == OutputKind.version,
      [OutputKind.verify, .audit].map(\.rawValue).contains(document.type)
    else { throw Self.notFindings(path, "expected what `verify` or `audit` prints with --format json") }
    type = document.type
    isClean = document.isClean
    findings = document.findings
    total = max(document.totalFindings ?? 0, document.findings.count)
  }

  private static func notFindings(_ path: String, _ cause: String) -> GodwitError {
    GodwitError(
      .dataWrong, "cannot read findings from '\(path)'", cause: cause,
      remedy: "write the file with `godwit verify JOB.yaml --format json`, or leave out --findings")
  }
}
