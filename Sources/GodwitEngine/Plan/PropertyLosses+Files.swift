import GodwitJob
import GodwitModel
import GodwitStore

/// Values that become nil because their external file is missing, in a job that goes on without them.
///
/// A value in a file that only moves along is not lost: its reference is kept. It is lost for a mapping that needs its
/// bytes, which stores them in the row, or computes with them.
extension PropertyLosses {
  func files() throws -> [Part] {
    guard planner.job.missingFilesAreNil else { return [] }
    var found: [Part] = []
    for entity in model.entities where !entity.isAbstract {
      guard let table = schema.table(of: entity.name)?.name else { continue }
      for attribute in model.attributes(of: entity.name)
      where attribute.type == .binary && attribute.allowsExternalBinaryDataStorage && !attribute.isTransient {
        guard let column = schema.column(of: attribute.name, in: entity.name),
          let part = filesPart(of: attribute.name, "s.\(quoted(column))", entity.name, table)
        else { continue }
        found.append(part)
      }
    }
    return found
  }

  private func filesPart(of name: String, _ column: String, _ entity: String, _ table: String) -> Part? {
    let needing = mappings.filter {
      $0.earlier == nil && $0.source.name == entity && needsBytes(of: name, $0)
    }.map(\.index)
    // Objects that a path, a condition or a choice reads are not told apart: all of the entity count.
    let isReadOtherwise =
      reads.isSelected(name, of: entity) || !reads.paths(to: name, of: entity).isEmpty
      || !reads.tests(of: name, of: entity).isEmpty
    guard !needing.isEmpty || isReadOtherwise else { return nil }
    let builder = StatementBuilder()
    var terms = [
      ExternalDataSQL.isReference(column), schema.isObject(of: [entity], row: "s").term, "godwit_file(\(column)) = 1",
    ]
    if !isReadOtherwise, !takesAll(needing, of: entity) {
      terms.append(taken(by: needing, row: "s", builder))
    }
    let counted = walk(table, builder, entity) { [terms] in
      "SELECT COUNT(*) FROM source.\(quoted(table)) AS s\(whereClause((terms as [String?]) + [$0]))"
    }
    return part(
      .values, "\(entity).\(name)", isCounted ? counted : nil,
      "their external file is missing, so they are nil where a mapping needs their bytes", .missingFile)
  }

  /// Whether a mapping reads the bytes of an attribute of its objects.
  private func needsBytes(of name: String, _ mapping: ResolvedEntityMapping) -> Bool {
    mapping.attributes.contains { attribute, source in
      switch source.withoutDefault {
      case .copy(name): !attribute.allowsExternalBinaryDataStorage || planner.job.needsBytesOfFiles
      case .expression(let parsed):
        ExpressionInputs(model: model, entityName: mapping.source.name).paths(parsed).contains([name])
          || parsed.contains { if case .keyPath(_, let segments) = $0.node { segments == [name] } else { false } }
      case .copy, .modelDefault, .defaultForNil: false
      }
    }
  }
}
