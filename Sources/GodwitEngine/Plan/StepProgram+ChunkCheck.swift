import GodwitJob
import GodwitModel
import GodwitStore

extension StepProgram {
  /// Checks that the program has everything that the chunks of a ledger name, so that the executor need not check it.
  ///
  /// - Throws: `.dataWrong` (65) when the ledger is not of this program, as one that is damaged.
  func check(_ chunks: [Chunk]) throws {
    let scans = try links.ids.map { try relationships.scans($0).count }
    let (orders, derivations) = (order.rules, try derivation.rules())
    let indexes = destinationSchema.indexes.indices
    for chunk in chunks {
      let isKnown =
        switch chunk.work {
        case .associate(let mapping), .create(let mapping, _), .validate(let mapping):
          mappings.indices.contains(mapping.number)
        case .relate(let link, let scan): links.has(link) && (0..<scans[link.number]).contains(scan)
        case .callHook(_, let policy): resolved.policies.indices.contains(policy)
        case .prepareResolving(let link), .resolve(let link): links.has(link)
        case .buildIndex(let index), .buildUniqueIndex(let index): indexes.contains(index)
        case .order(let rule): orders.has(rule)
        case .derive(let rule): derivations.has(rule)
        case .validateEntity(let number): destinationSchema.entityName(number) != nil
        case .meet: !meeting.isEmpty
        }
      guard isKnown else {
        throw GodwitError(
          .dataWrong, "cannot read the ledger: chunk \(chunk.id) (\(chunk.name)) does not fit the job",
          remedy: "`godwit discard` the job and run again")
      }
    }
  }
}
