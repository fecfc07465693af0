import Foundation
import GodwitJob
import GodwitModel
import GodwitStore

/// Values of objects that become one (`unique-by`), as a run computes them.
///
/// A run computes the values of `unique-by` for every object, and with `fill-nil` the values that may fill others too. An
/// object for which it cannot do so fails alone. The rules hold for the object that the others become.
extension SourceAudit {
  /// Leaves out the objects for which a value that every object has cannot be computed, or does not fit.
  func leaveOutFailing(_ rows: inout TakenRows, _ program: StepProgram) throws {
    let mapping = rows.mapping
    let filled = Set(filled(mapping).map(\.attribute.name))
    var patterns: [ValidationPattern] = []
    let parts = try attributeParts(mapping, program, rows.builder, [], &patterns).compactMap { part -> Part? in
      if mapping.mapping.uniqueBy.contains(part.property) { return part }
      // The value of a file is read only where it is taken.
      guard filled.contains(part.property), !hasFile(part.property, of: mapping, program) else { return nil }
      return part.keeping(\.isOfEach)
    }
    let before = rejected[rows.name, default: []]
    for failed in try check(parts[...], in: rows) {
      rows.taken = failed.excluded(from: rows.taken, alias: "s")
      rows.isPartial = rows.isPartial || !failed.isComplete
    }
    // The run finds them before it makes one of the others.
    let found = rejected[rows.name, default: []].subtracting(before)
    if isForecast { rows.taken = Self.leavingOut(found, from: rows.taken, "s") }
  }

  /// Tests the rules of the values that `fill-nil` may take from another object on the object that gives each.
  ///
  /// - Returns: The parts whose values come from the first object.
  func checkFilled(
    _ parts: [Part], in rows: TakenRows, _ association: AssociationLowering, _ program: StepProgram,
    _ patterns: [NSRegularExpression]
  ) throws -> [Part] {
    let mapping = rows.mapping
    var rest = parts
    for (attribute, source) in filled(mapping) {
      guard let place = rest.firstIndex(where: { $0.property == attribute.name }) else { continue }
      let part = rest.remove(at: place)
      let isOfFile = hasFile(attribute.name, of: mapping, program)
      let plain = source.withoutDefault
      if isOfFile, plainColumn(of: plain, for: attribute, in: mapping) == nil {
        skip(
          "values of \(mapping.destination.name).\(attribute.name) that 'fill-nil' may take from another object (mapping \(mapping.name))"
        )
        if let first = part.keeping(\.isOfEach) { rest.append(first) }
        continue
      }
      guard let ruled = isOfFile ? part : part.keeping({ !$0.isOfEach }) else { continue }
      let value = try sql(of: attribute, from: plain, in: mapping, program, rows.builder)
      let merged = try program.associationStage.merged(mapping.index, association, matching: "(\(rows.taken))")
      var giving = rows
      giving.patterns = patterns
      giving.take(
        merged,
        without: """
          SELECT k FROM (SELECT g.k AS k, FIRST_VALUE(g.k) OVER \
          (PARTITION BY g.f ORDER BY (\(value)) IS NULL, g.t) AS kept FROM (\(merged)) AS g \
          CROSS JOIN \(rows.table) AS s ON s.Z_PK = g.k) WHERE k <> kept
          """)
      try check([ruled], in: giving)
    }
    return rest
  }

  /// The attributes that may take the value of another object.
  private func filled(_ mapping: ResolvedEntityMapping) -> [(
    attribute: AttributeDescription, source: ResolvedEntityMapping.AttributeSource
  )] {
    guard !mapping.mapping.uniqueBy.isEmpty else { return [] }
    return mapping.attributes.filter { mapping.fills($0.attribute, from: $0.source) }
      .map { (attribute: $0.attribute, source: $0.source) }
  }

  private func hasFile(_ name: String, of mapping: ResolvedEntityMapping, _ program: StepProgram) -> Bool {
    mapping.attributes.contains {
      $0.attribute.name == name
        && program.associationStage.hasExternalValue($0.attribute, $0.source.withoutDefault, in: mapping)
    }
  }
}

extension SourceAudit.Part {
  /// The part with some of its checks; nil without any.
  fileprivate func keeping(_ isKept: (SourceAudit.Check) -> Bool) -> Self? {
    var part = self
    part.checks = checks.filter(isKept)
    return part.checks.isEmpty ? nil : part
  }
}
