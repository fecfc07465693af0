import GodwitJob
import GodwitModel
import GodwitStore

/// Builds the statements of one stage. Lowered statements are cached with the program, so that all chunks of a mapping
/// run the same statement with other keys.
package protocol StageStatements {
  var step: StepProgram { get }
}

extension StageStatements {
  var mappings: [ResolvedEntityMapping] { step.mappings }
  var resolved: ResolvedMapping { step.resolved }
  var sourceSchema: StoreSchema { step.sourceSchema }
  var destinationSchema: StoreSchema { step.destinationSchema }
  var facts: PlanFacts { step.facts }
  var links: [InversePair] { step.links }

  func associations(_ builder: StatementBuilder) -> AssociationLowering { step.associations(builder) }
  func isStored(_ mapping: MappingID) -> Bool { step.isStored(mapping) }
  func isUnique(_ mapping: MappingID) -> Bool { step.isUnique(mapping) }
  func isPolicy(_ mapping: MappingID) -> Bool { step.isPolicy(mapping) }
  func isExplicit(_ mapping: MappingID) -> Bool { step.isExplicit(mapping) }
  func sourceTable(_ entity: String) throws -> String { try step.sourceTable(entity) }
  func destinationTable(of entity: String) throws -> StoreSchema.EntityTable { try step.destinationTable(of: entity) }

  /// FROM and WHERE of the source rows `s` whose objects are assigned to: with `unique-by` the first source
  /// of each object.
  func assigningRows(of index: MappingID, _ association: AssociationLowering) throws -> String {
    let table = try association.table(index)
    if step.isBeforeRun, isUnique(index) {
      let taken = association.matches(index, alias: "s").sql
      let merged = try step.associationStage.merged(index, association)
      return """
        \(table) AS s WHERE s.Z_PK BETWEEN ?1 AND ?2 AND \(taken) \
        AND s.Z_PK NOT IN (SELECT k FROM (\(merged)) WHERE k <> f)
        """
    }
    guard !isUnique(index) else {
      return
        "main.\(StepProgram.uniqueTable(index)) AS u CROSS JOIN \(table) AS s ON s.Z_PK = u.source WHERE u.source BETWEEN ?1 AND ?2"
    }
    return "\(table) AS s WHERE s.Z_PK BETWEEN ?1 AND ?2 AND \(association.matches(index, alias: "s").sql)"
  }

  /// The condition of a chunk's predicate on the source row `s`, to follow others; empty without a predicate.
  func further(
    _ predicate: FilterPredicate?, of mapping: ResolvedEntityMapping, _ builder: StatementBuilder
  ) -> String {
    guard let predicate else { return "" }
    let row = ExpressionLowering.Row(alias: "s", entityName: mapping.source.name)
    return " AND " + ExpressionLowering.condition(predicate, schema: sourceSchema, row: row, builder: builder).sql
  }
}

extension StepProgram {
  var associationStage: AssociationStatements { .init(step: self) }
  package var creation: CreationStatements { .init(step: self) }
  package var relationships: RelationshipStatements { .init(step: self) }
  var resolution: ResolutionStatements { .init(step: self) }
  package var order: OrderStatements { .init(step: self) }
  package var derivation: DerivationStatements { .init(step: self) }
  package var validation: ValidationStatements { .init(step: self) }
  var keptInvalid: KeptInvalidStatements { .init(step: self) }
  var losses: LossStatements { .init(step: self) }
  var policy: PolicyStatements { .init(step: self) }
}
