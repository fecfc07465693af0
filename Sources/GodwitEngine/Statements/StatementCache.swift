import GodwitJob
import GodwitModel

/// The statements that a program has lowered so far.
///
/// A program whose shortcuts change (`StepProgram.inlineLinks`, `.computedAssociations`) starts with an empty cache,
/// because the shortcuts decide how links and associations are read.
final class StatementCache {
  let pairs = Kept<MappingID, ChunkStatement>()
  let creations = Kept<CreationKey, ChunkStatement>()
  let sharedCreations = Kept<[MappingID], ChunkStatement?>()
  let evaluations = Kept<EvaluationKey, (ChunkStatement, Set<Int>)?>()
  let scans = Kept<LinkID, [RelationshipScan]>()
  let relationships = Kept<RelationshipScan, ChunkStatement>()
  let ambiguousToOne = Kept<CreationKey, ChunkStatement?>()
  let ambiguousToOneOfScans = Kept<RelationshipScan, ChunkStatement?>()
  let nilWatches = Kept<MappingID, [NilWatch]>()
  let nils = Kept<NilStatementKey, ChunkStatement>()
  let resolutions = Kept<LinkID, ResolutionStatements.Statements>()
  let validations = Kept<String, EntityValidation>()
  let orderRules = Kept<Once, [OrderRule]>()
  let derivationRules = Kept<Once, [DerivationRule]>()
}

/// Values that are made once for each key.
final class Kept<Key: Hashable, Value> {
  private var known: [Key: Value] = [:]

  func callAsFunction(_ key: Key, _ make: () throws -> Value) rethrows -> Value {
    if let value = known[key] { return value }
    let value = try make()
    known[key] = value
    return value
  }
}

/// The key of a value that a program has once.
struct Once: Hashable {}

/// The inputs of the statement that makes the objects of a mapping.
struct CreationKey: Hashable {
  var mapping: MappingID
  var predicate: FilterPredicate?
  var isPart = false
}

/// The inputs of the statement that counts values which turned to nil.
struct NilStatementKey: Hashable {
  var mapping: MappingID
  var watches: [NilWatch]
  var predicate: FilterPredicate?
}

/// The inputs of the query that evaluates a statement's expressions.
struct EvaluationKey: Hashable {
  var mappings: [MappingID]
  /// The statement's builder, whose places and constants the query shares.
  var builder: ObjectIdentifier
}
