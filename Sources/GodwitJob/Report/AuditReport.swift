import GodwitModel

/// The findings of an audit of a source before its job runs, and the parts that it did not check.
package struct AuditReport: Sendable, Codable {
  /// The kind of fault. The raw values never change.
  package enum Kind: String, Sendable, Codable, Hashable, CaseIterable {
    /// Rows whose entity number belongs to no entity of their table.
    case unknownEntity = "unknown entity"
    /// Values that an attribute of their type cannot hold.
    case wrongType = "wrong type"
    /// Texts that are not UTF-8, and binary values that are neither bytes nor the name of an external file.
    case malformed
    /// Values in external files that are missing.
    case missingFile = "missing file"
    /// Links that lead to no object that the relationship can hold.
    case danglingLink = "dangling link"
    /// One-to-one links whose other end leads elsewhere.
    case halfLink = "half link"
    /// Objects with equal values under a uniqueness constraint.
    case duplicate
    /// Objects that the mapping makes and validation would reject.
    case invalid
    /// Values that the destination's type of store cannot hold.
    case unwritable
    /// Values or filters that cannot be computed.
    case expression
    /// Values and links that `unique-by` drops, since it makes one object of several that differ.
    case merged
  }

  /// An object of the source.
  package struct Sample: Sendable, Codable, Hashable {
    /// The object's URI, as Core Data gives it.
    package var uri: String
    /// The value concerned, as text; nil unless it was asked for.
    package var value: String?

    package init(uri: String, value: String?) { (self.uri, self.value) = (uri, value) }
  }

  /// One kind of fault in one property.
  package struct Finding: Sendable, Codable, Hashable {
    /// The kind of fault.
    package var kind: Kind
    /// The model version whose rule is broken.
    package var model: String
    /// The entity of the source.
    package var entity: String
    /// The properties concerned; nil for the objects as a whole.
    package var property: String?
    /// The mapping that makes the object; nil for a fault of the source itself.
    package var mapping: String?
    /// How many.
    package var count: Int64
    /// Whether there may be more: not all objects could be looked at, since too many values cannot be computed.
    package var isLowerBound: Bool
    /// The fault in one sentence, without values.
    package var message: String
    /// The first ones, by key.
    package var samples: [Sample]

    package init(
      _ kind: Kind, model: String, entity: String, property: String?, mapping: String? = nil, count: Int64,
      isLowerBound: Bool = false, message: String, samples: [Sample]
    ) {
      (self.kind, self.model, self.entity, self.property, self.mapping) = (kind, model, entity, property, mapping)
      (self.count, self.isLowerBound, self.message, self.samples) = (count, isLowerBound, message, samples)
    }
  }

  /// Values of one attribute that are encoded alike, and have the same keys and types.
  package struct Shape: Sendable, Codable, Hashable {
    /// The entity of the source.
    package var entity: String
    package var attribute: String
    /// `json`, `plist` or `archive`; `more` for values of further shapes, `other` for values that are not decoded.
    package var form: String
    /// Keys and types, as in `{name: string}`; nil for `more` and `other`.
    package var shape: String?
    /// How many values.
    package var count: Int64

    package init(entity: String, attribute: String, form: String, shape: String?, count: Int64) {
      (self.entity, self.attribute, self.form, self.shape, self.count) = (entity, attribute, form, shape, count)
    }
  }

  /// The findings, in the order of the checks.
  package var findings: [Finding] = []
  /// How many objects of the source were looked at.
  package var objects: Int64 = 0
  /// How many checks were made, each of one rule in one property.
  package var checks: Int64 = 0
  /// Faults that only the run itself can find.
  package var notLookedAt: [String] = []
  /// The shapes of encoded values; nil unless they were asked for. They are not faults.
  package var shapes: [Shape]?

  package init() {}

  /// Whether nothing was found.
  package var isClean: Bool { findings.isEmpty }
}

extension AuditReport: CustomStringConvertible {
  /// The findings, what was not looked at, and the verdict.
  package var description: String {
    var lines: [String] = []
    for finding in findings {
      let place = finding.entity + (finding.property.map { ".\($0)" } ?? "")
      let by = finding.mapping.map { " (mapping \($0))" } ?? ""
      let count = (finding.isLowerBound ? "at least " : "") + "\(finding.count)"
      lines.append("\(finding.kind.rawValue): \(place): \(count): \(finding.message)\(by)")
      lines += finding.samples.map { "  \($0.uri)" + ($0.value.map { "  \($0)" } ?? "") }
      let rest = finding.count - Int64(finding.samples.count)
      if rest > 0, !finding.samples.isEmpty {
        lines.append("  and \(finding.isLowerBound ? "at least " : "")\(rest) more")
      }
    }
    lines += (shapes ?? []).map { shape in
      let what =
        switch shape.form {
        case "more": "values of further shapes"
        case "other": "other bytes, or more than 1 MiB"
        default: "\(shape.form) \(shape.shape ?? "")"
        }
      return "shape: \(shape.entity).\(shape.attribute): \(shape.count): \(what)"
    }
    lines += notLookedAt.map { "not looked at: \($0)" }
    lines.append("checked \(objects.counted("object")) by \(checks.counted("rule"))")
    lines.append(isClean ? "nothing found" : findings.count.counted("finding"))
    return lines.map(\.onOneLine).joined(separator: "\n")
  }
}
