import GodwitJob
import GodwitModel
import GodwitStore

/// The additions of mappings with a policy to a step: tables of explicit associations, and the reading of them.
///
/// | table | a row says |
/// |---|---|
/// | `godwit_pair_<mapping>` | this source object and this destination object are associated; indexed once a lookup comes from the destination |
///
/// All links are resolved in assignment order, since a policy may set any of them. Those that none has set so far are
/// written with their objects where `InversePair.inlineEnd` says so: see `PolicyRun.resolveInOrder`.
extension StepProgram {
  func isPolicy(_ index: MappingID) -> Bool { policyIndexes.contains(index) }

  /// Whether the associations of a mapping are in a table: a policy made them explicitly.
  func isExplicit(_ index: MappingID) -> Bool { isPolicy(index) && !computedAssociations.contains(index) }

  /// Mappings with a policy whose associations are computed until it makes others.
  var computedMappingCandidates: Set<MappingID> { policyIndexes.filter { !isStored($0) } }

  static let requestTable =
    "godwit_asked (turn INTEGER, source INTEGER, entity INTEGER, destination INTEGER)"

  /// Links that are written with the objects of a mapping.
  func inlineLinks(of index: MappingID) -> Set<LinkID> {
    inlineLinks.filter { link in
      links[link].assignments.contains { $0.mapping == index && $0.end == links[link].inlineEnd }
    }
  }

  /// Links that are written with objects which look a mapping up.
  func inlineLinks(lookingUp index: MappingID) -> Set<LinkID> {
    inlineLinks.filter { link in
      links[link].assignments.contains { assignment in
        assignment.end == links[link].inlineEnd
          && mappings[assignment.mapping].relationships[assignment.part].lookups.contains(index)
      }
    }
  }

  static func pairTable(_ mapping: MappingID) -> String { "godwit_pair_\(mapping)" }
  static func pairIndex(_ mapping: MappingID) -> (name: String, columns: String) {
    let table = pairTable(mapping)
    return ("\(table)_destination", "\(table) (destination, entity, source, turn)")
  }

  var policyScratchStatements: [String] {
    resolved.policies.compactMap(\.index).map { index in
      "CREATE TABLE \(Self.pairTable(index)) (source INTEGER, turn INTEGER, root INTEGER, entity INTEGER, destination INTEGER, PRIMARY KEY (source, turn)) WITHOUT ROWID"
    }
  }

  /// Entities that can have objects when the step is done: those that mappings make, or with policies all.
  var madeEntityNames: [String] {
    let made = Set(mappings.map(\.destination.name))
    return resolved.destinationModel.entities.filter { entity in
      resolved.hasPolicies ? !entity.isAbstract : made.contains(entity.name)
    }.map(\.name)
  }
}

/// The lookups of objects that policies made, filled in where SQL of a step with policies is built.
struct PolicyLookups {
  /// Mappings with explicit associations, and those whose associations are computed despite their policy.
  var mappings, computed: Set<MappingID>
  /// `Z_ENT` of an entity and its subentities in the destination.
  var destinationNumbers: (String) -> [Int]
  /// Whether an entity of the destination is another or descends from it.
  var isKind: (String, String) -> Bool
}

extension AssociationLowering {
  func isPolicy(_ index: MappingID) -> Bool { policies?.mappings.contains(index) == true }

  /// The condition that joins pairs `q` of a mapping with a policy to the source key `key`, and keeps objects of an
  /// entity.
  ///
  /// - Parameter isSubselect: Whether the key is a sub-select of many.
  func pairCondition(_ index: MappingID, key: String, isSubselect: Bool = false, entity: String?) -> String {
    let root = schema.model.root(of: mappings[index].source.name)?.name ?? mappings[index].source.name
    var sql = "q.source \(isSubselect ? "IN" : "=") \(key) AND q.root = \(schema.number(of: root) ?? -1)"
    if let entity, let numbers = policies?.destinationNumbers(entity) {
      sql += " AND q.entity IN (\(numbers.map(String.init).joined(separator: ", ")))"
    }
    return sql
  }

  /// How many objects a policy associated with a source key, or with several: 0, 1, or 2 for any more.
  ///
  /// The lowest and the highest key tell as much as `COUNT(DISTINCT)`, which makes a table for each row.
  func policyCount(_ index: MappingID, key: String, isSubselect: Bool, entity: String?) -> String {
    "(SELECT COALESCE(1 + (MIN(q.destination) < MAX(q.destination)), 0) FROM main.\(StepProgram.pairTable(index)) AS q WHERE \(pairCondition(index, key: key, isSubselect: isSubselect, entity: entity)))"
  }

  /// The lowest of the keys of the objects that a policy associated with a source key.
  func policyLookup(_ index: MappingID, key: String, entity: String?) -> String {
    "(SELECT MIN(q.destination) FROM main.\(StepProgram.pairTable(index)) AS q WHERE \(pairCondition(index, key: key, entity: entity)))"
  }
}
