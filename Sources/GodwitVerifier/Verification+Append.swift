import GodwitJob
import GodwitModel
import GodwitStore

extension Verification {
  /// Finds the objects that an earlier job made of its source objects. Links to a deleted object are not expected.
  func findEarlierObjects(_ mapping: VerifiedMapping, offset: Int64, limit: ByteCount) throws {
    let table = table(try destinationTable(mapping.destinationEntity).name)
    let isObject = destinationSchema.isObject(of: [mapping.destinationEntity]).term
    let counterparts = counterparts[mapping.index]
    let there = RankedKeySet(scratch: scratch, table: "there_\(mapping.index)", limit: limit)
    var walk = try counterparts.taken.walk()
    while let source = try walk.next() {
      let (key, overflow) = source.addingReportingOverflow(offset)
      guard !overflow,
        try integer("SELECT 1 FROM \(table) WHERE Z_PK = ?1 AND \(isObject)", [.integer(key)], on: destination) != nil
      else { continue }
      try there.append(source)
    }
    there.finish()
    counterparts.keep(there)
    counterparts.place = .shift(offset)
  }
}
