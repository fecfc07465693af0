import Foundation
import GodwitModel

/// JSON with sorted keys, the same for the same content.
package enum LintJSON {
  package static func document(_ value: some Encodable) throws -> String {
    try encode(value, [.prettyPrinted, .withoutEscapingSlashes])
  }

  static func line(_ value: some Encodable) throws -> String {
    try encode(value, .withoutEscapingSlashes)
  }

  private static func encode(_ value: some Encodable, _ form: JSONEncoder.OutputFormatting) throws -> String {
    String(decoding: try value.sortedJSON(form), as: UTF8.self)
  }
}

extension LintReport {
  /// The report for programs; `lint.schema.json` describes it.
  package struct Record: Encodable {
    package struct Counts: Encodable {
      var errors, warnings, notes, accepted, shipped: Int
    }
    package struct Place: Encodable {
      var file: String
      var line: Int?
      var text: String?
    }
    package struct Step: Encodable { var from, to: String }
    package struct Finding: Encodable {
      var code, slug, severity, state, key, subject: String
      var model, file: String?
      var line: Int?
      var step: Step?
      var message, remedy: String
      var related: [Place]?
    }

    var schemaVersion = 1
    var type = "lint"
    var models, versions: Int
    var lock: String?
    var counts: Counts
    var findings: [Finding]
  }

  /// - Throws: never for the content of a report.
  package func json() throws -> String {
    try LintJSON.document(
      Record(
        models: bundles, versions: versions, lock: lock,
        counts: .init(
          errors: count(.error), warnings: count(.warning), notes: count(.note), accepted: count(.accepted),
          shipped: count(.shipped)),
        findings: findings.map { finding in
          .init(
            code: finding.rule.code, slug: finding.rule.slug, severity: finding.severity.rawValue,
            state: finding.state.rawValue, key: finding.key, subject: finding.subject, model: finding.bundle,
            file: finding.location.file, line: finding.location.line,
            step: finding.step.map { .init(from: $0.from, to: $0.to) }, message: finding.message,
            remedy: finding.remedy,
            related: finding.related.isEmpty
              ? nil
              : finding.related.map { .init(file: $0.location.file, line: $0.location.line, text: $0.text) })
        }))
  }
}
