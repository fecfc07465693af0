import GodwitJob
import GodwitModel
import GodwitStore

/// The objects that the error of a validation names.
extension Executor {
  /// The most objects that are named. The search ends with the chunk.
  static let limitOffenders = 20

  /// - Parameter broken: The first objects of a chunk that break a rule; at least one.
  func invalid(
    _ broken: [(key: Int64, rule: Int)], _ validation: EntityValidation, of entity: String, _ chunk: Chunk
  ) throws -> GodwitError {
    let first = broken[0]
    let message = "validation failed for \(entity) p\(first.key): \(validation.rules[first.rule].message)"
    var cause: String?
    if broken.count > 1 {
      // A failed look-up must not hide the error.
      let uuid = try? StoreMetadata(reading: connection, path: job.sourcePath).uuid
      var isBySource = false
      let lines = broken.map { key, rule in
        var name = "\(entity) p\(key)"
        if let uuid, let uri = try? sourceURI(ofKey: key, of: entity, uuid) { (name, isBySource) = (uri, true) }
        return "\(name): \(validation.rules[rule].message)"
      }
      let isAll = broken.count < Self.limitOffenders
      cause =
        "\(isAll ? "all" : "the first") \(broken.count) of the chunk\(isBySource ? ", by source object" : "")\n"
        + lines.asLines
    }
    let repair =
      "repair the source, or change the mapping or the destination model; then `godwit discard` the job and run again"
    let kept =
      job.steps.allSatisfy(\.isInferred)
      ? "keeps such objects, as Core Data's inferred migration does" : "keeps objects that broke the rule before"
    return GodwitError(
      .dataWrong, message, context: context(chunk), cause: cause,
      remedy: job.keepsInvalid
        ? repair : "\(repair). `on-invalid: keep` \(kept), `on-invalid: {quarantine: …}` sets objects aside"
    ).about(.rejectedRow)
  }

  /// The source object of a destination object whose key was computed; nil where that needs a search.
  private func sourceURI(ofKey key: Int64, of entity: String, _ uuid: String) throws -> String? {
    // In place, the rows of the source may be gone or have other columns. A later step has no source of the user's.
    guard !connection.isOwnSource, job.position.isFirst else { return nil }
    for mapping in program.mappings where mapping.destination.name == entity && mapping.earlier == nil {
      guard !program.isPolicy(mapping.index), !program.isStored(mapping.index),
        case .offset(let offset) = program.facts.mappings[mapping.index].keys
      else { continue }
      let (source, overflow) = key.subtractingReportingOverflow(offset)
      guard !overflow else { continue }
      let statement = try program.associationStage.takenKeys(mapping.index, limit: 1)
      let found = try functions.running(statement, context: "validation") {
        try connection.integer(statement.sql, statement.builder.arguments(from: source, through: source))
      }
      if found != nil { return "x-coredata://\(uuid)/\(mapping.source.name)/p\(source)" }
    }
    return nil
  }
}
