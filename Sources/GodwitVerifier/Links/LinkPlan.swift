import GodwitModel

/// Relationships whose assignments cannot interfere, so that the result is known without a replay.
///
/// A link *p* → *c* of a source row is assigned at most twice: when *p* is set, and when *c* is, along the inverse. The
/// later assignment wins. If both give the same, or only one takes place, the order does not matter. Then a to-one is
/// compared with the row that holds it, and a many-to-many as a set of pairs. The replay (`compareRelationships`)
/// reports any difference.
struct LinkPlan {
  enum Kind {
    case toOne(end: Int, table: String, column: String, entityColumn: String?, proof: ToOneProof)
    case join(Join)
  }

  struct Join {
    var name: String
    var columns: (String, String)
    /// In the source; nil when nothing is assigned.
    var source: (name: String, columns: (String, String))?
  }

  var kind: Kind
  /// The mappings that assign at each end, with the targets.
  var assignments: [[MappingID: VerifiedMapping.Assignment]]
  /// For a to-one: the column of the source that has the key.
  var column: (table: String, name: String)?

  /// The result for the keys of a to-one; nil for a many-to-many.
  var proof: ToOneProof? { if case .toOne(_, _, _, _, let proof) = kind { proof } else { nil } }

  /// The plan with a count of its own.
  var withoutCount: LinkPlan {
    var plan = self
    if case .toOne(let end, let table, let column, let entityColumn, let proof) = kind {
      let fresh = ToOneProof()
      if proof.isDoubtful { fresh.doubt() }
      plan.kind = .toOne(end: end, table: table, column: column, entityColumn: entityColumn, proof: fresh)
    }
    return plan
  }

  /// Whether a link between objects of two mappings is there at the end.
  ///
  /// - Parameters:
  ///   - first: The mapping of the object at the end `end`.
  func links(_ first: MappingID, _ second: MappingID, from end: Int) -> Bool {
    assignments[end][first]?.lookups.contains(second) == true
      || assignments[1 - end][second]?.lookups.contains(first) == true
  }
}
