import Foundation
package import GodwitJob
import GodwitModel
package import GodwitStore

/// The parts from which the SQL of every chunk of a step is made: the plan's decisions in terms of the two databases.
/// The statements of each stage have a builder of their own (`StageStatements`).
///
/// `source` is the attached store, which is only read; `main` is the store under construction. All
/// statements take the first and last key of the chunk as `?1` and `?2`.
package struct StepProgram {
  package let resolved: ResolvedMapping
  package let sourceSchema: StoreSchema
  package let destinationSchema: StoreSchema
  package let facts: PlanFacts
  package let links: [InversePair]
  /// Links that are stored as a foreign key, by the entity on whose side the key is.
  private let foreignKeyLinks: [String: [LinkID]]
  /// Mappings of source objects that a policy carries out.
  let policyIndexes: Set<MappingID>
  /// Mappings whose source keys are kept in memory for lookups.
  let keySets: Set<MappingID>
  /// Links that are written with their objects since no policy has set them.
  var inlineLinks: Set<LinkID> = [] { didSet { kept = StatementCache() } }
  /// Mappings whose policy has made of each source object the same as the mapping alone would: their associations are
  /// computed.
  var computedAssociations: Set<MappingID> = [] { didSet { kept = StatementCache() } }
  /// Whether its statements count before a run, without a store under construction and its spill files.
  var isBeforeRun = false { didSet { kept = StatementCache() } }
  /// The statements that were lowered so far.
  private(set) var kept = StatementCache()

  /// - Parameter keySetBytes: Memory for the source keys of mappings whose associations are computed.
  package init(
    resolved: ResolvedMapping, sourceSchema: StoreSchema, destinationSchema: StoreSchema, facts: PlanFacts,
    keySetBytes: Int64 = 0
  ) throws {
    self.resolved = resolved
    self.sourceSchema = sourceSchema
    self.destinationSchema = destinationSchema
    self.facts = facts
    policyIndexes = Set(resolved.policies.compactMap(\.index))
    let links = try InversePair.links(of: resolved, schema: destinationSchema, facts: facts)
    self.links = links
    keySets = Self.keySets(resolved, links: links, facts: facts, bytes: keySetBytes)
    var foreignKeyLinks: [String: [LinkID]] = [:]
    for (index, link) in links.numbered {
      if let side = link.foreignKeySide { foreignKeyLinks[side.entityName, default: []].append(index) }
    }
    self.foreignKeyLinks = foreignKeyLinks
  }

  /// The links that rows of an entity store as foreign keys, in order.
  func foreignKeyLinks(of entity: String) -> [LinkID] {
    resolved.destinationModel.lineage(of: entity).flatMap { foreignKeyLinks[$0.name] ?? [] }.sorted()
  }

  /// The looked-up mappings whose key sets fit the memory, the smallest first.
  private static func keySets(
    _ resolved: ResolvedMapping, links: [InversePair], facts: PlanFacts, bytes: Int64
  ) -> Set<MappingID> {
    var left = bytes
    var chosen: Set<MappingID> = []
    let lookedUp = lookedUp(resolved, links: links)
    let sizes = resolved.entityMappings.compactMap { mapping -> (index: MappingID, bytes: Int64)? in
      guard lookedUp.contains(mapping.index) else { return nil }
      let known = facts.mappings[mapping.index]
      guard mapping.earlier == nil, known.rows > 0, !AssociationLowering.isStored(mapping, facts: facts) else {
        return nil
      }
      return (mapping.index, KeySet.bytes(keys: known.rows, from: known.minimumKey, through: known.maximumKey))
    }
    for (index, size) in sizes.sorted(by: { ($0.bytes, $0.index) < ($1.bytes, $1.index) }) where size <= left {
      left -= size
      chosen.insert(index)
    }
    return chosen
  }

  /// Mappings that statements look up by a key of another row.
  private static func lookedUp(_ resolved: ResolvedMapping, links: [InversePair]) -> Set<MappingID> {
    // A policy may look up any.
    guard !resolved.hasPolicies else { return Set(resolved.entityMappings.ids) }
    var found: Set<MappingID> = []
    for link in links {
      for assignment in link.assignments {
        let source = resolved.entityMappings[assignment.mapping].relationships[assignment.part]
        if !source.path.isEmpty { found.formUnion(source.lookups) }
        // A walk of the rows that store the relationship finds the owner by its key.
        if link.strategy != .atCreation { found.insert(assignment.mapping) }
      }
    }
    return found
  }

  package var mappings: [ResolvedEntityMapping] { resolved.entityMappings }

  /// Links that are written with their objects until a policy sets them.
  var inlineLinkCandidates: Set<LinkID> { Set(links.ids.filter { links[$0].inlineEnd != nil }) }

  /// The current form of a link.
  func currentLink(_ index: LinkID) -> InversePair {
    var link = links[index]
    guard inlineLinks.contains(index), let end = link.inlineEnd else { return link }
    (link.strategy, link.carriedEnd) = (.atCreation, end)
    return link
  }

  package func associations(_ builder: StatementBuilder) -> AssociationLowering {
    var association = AssociationLowering(mappings: mappings, facts: facts, schema: sourceSchema, builder: builder)
    association.checks = .done
    association.keySets = keySets
    if isBeforeRun {
      association.standIn = { [self, association] index, key in
        guard isUnique(index) else {
          let alias = builder.alias("a")
          return "(SELECT \(alias).Z_PK FROM \(try association.table(index)) AS \(alias) "
            + "WHERE \(alias).Z_PK = \(key) AND \(association.matches(index, alias: alias).sql))"
        }
        return "(SELECT q.id FROM (\(try associationStage.merging(index, association))) AS q WHERE q.k = \(key))"
      }
    }
    if resolved.hasPolicies {
      association.policies = PolicyLookups(
        mappings: policyIndexes.subtracting(computedAssociations), computed: computedAssociations
      ) { entity in
        resolved.destinationModel.family(of: entity).compactMap { destinationSchema.number(of: $0.name) }
      } isKind: { entity, ancestor in
        resolved.destinationModel.isKind(entity, of: ancestor)
      }
    }
    return association
  }

  func isStored(_ index: MappingID) -> Bool { AssociationLowering.isStored(mappings[index], facts: facts) }

  func isUnique(_ index: MappingID) -> Bool { !mappings[index].mapping.uniqueBy.isEmpty }

  /// Whether the objects that become one have an order, which decides before the first of them is associated.
  func isOrdered(_ index: MappingID) -> Bool { isUnique(index) && mappings[index].ordersUnique }

  /// The source object and the key of each object of a `unique-by` mapping.
  static func uniqueTable(_ mapping: MappingID) -> String { "godwit_unique_\(mapping)" }
  /// The same for the identity of unique objects.
  static func identityTable(_ mapping: MappingID) -> String { "godwit_identity_\(mapping)" }
  /// The source objects that become one with others: the key of the first in their order, the number of the object among
  /// them from 1, and with dense keys the number of the destination object from 0.
  static func survivorTable(_ mapping: MappingID) -> String { "godwit_survivor_\(mapping)" }
  /// The objects whose related objects are sorted by a rule, with the mapping that says how.
  static func sortedTable(_ rule: OrderID) -> String { "godwit_sorted_\(rule)" }
  /// By mapping, the rank of each object that it may relate.
  static func rankTable(_ rule: OrderID) -> String { "godwit_rank_\(rule)" }
  static func linkTable(_ link: LinkID) -> String { "godwit_link_\(link)" }

  func destinationTable(of entity: String) throws -> StoreSchema.EntityTable {
    guard let table = destinationSchema.table(of: entity) else {
      throw GodwitError(.internalBug, "cannot find the destination table of '\(entity)'")
    }
    return table
  }

  func sourceTable(_ entity: String) throws -> String {
    guard let table = sourceSchema.table(of: entity) else {
      throw GodwitError(.internalBug, "cannot find the source table of '\(entity)'")
    }
    return table.name
  }

  /// The join along source relationships from the row `s` of a mapping.
  func chain(
    _ path: [ResolvedEntityMapping.SourceRelationship], in mapping: ResolvedEntityMapping,
    _ association: AssociationLowering
  ) throws -> RelationshipJoinPath {
    var chain = RelationshipJoinPath(
      row: .init(alias: "s", entityName: mapping.source.name), schema: sourceSchema,
      database: StoreConnection.sourceSchema, builder: association.builder)
    for hop in path {
      do { try chain.follow(hop.relationship.name) } catch let error as NotLowerable {
        throw GodwitError(.configuration, "cannot follow '\(hop.entityName).\(hop.relationship.name)': \(error.reason)")
      }
    }
    return chain
  }

  // MARK: Godwit's own tables while the store is under construction

  /// Tables that the step needs beside the ledger; dropped with it.
  package var scratchStatements: [String] {
    var statements: [String] = []
    for mapping in mappings where !mapping.mapping.uniqueBy.isEmpty {
      statements.append(
        "CREATE TABLE \(Self.uniqueTable(mapping.index)) (source INTEGER PRIMARY KEY, destination INTEGER)")
      if isOrdered(mapping.index) {
        let table = Self.survivorTable(mapping.index)
        statements.append(
          "CREATE TABLE \(table) (source INTEGER PRIMARY KEY, survivor INTEGER, turn INTEGER, place INTEGER)")
        if mapping.mapping.fillsNil {
          statements.append("CREATE INDEX \(table)_turn ON \(table) (survivor, turn)")
        }
        continue
      }
      statements.append(
        "CREATE TABLE \(Self.identityTable(mapping.index)) (identity BLOB PRIMARY KEY, destination INTEGER) WITHOUT ROWID"
      )
    }
    for (number, rule) in order.rules.numbered where !rule.sorted.isEmpty {
      statements.append("CREATE TABLE \(Self.sortedTable(number)) (key INTEGER PRIMARY KEY, part INTEGER)")
      statements.append(
        "CREATE TABLE \(Self.rankTable(number)) (part INTEGER, key INTEGER, place INTEGER, PRIMARY KEY (part, key)) WITHOUT ROWID"
      )
    }
    for (index, link) in links.numbered where link.strategy == .resolved {
      statements.append(
        "CREATE TABLE \(Self.linkTable(index)) (side INTEGER, mapping INTEGER, subject INTEGER, target INTEGER, position INTEGER, inverse_position INTEGER, turn INTEGER)"
      )
    }
    return statements + policyScratchStatements
  }
}
