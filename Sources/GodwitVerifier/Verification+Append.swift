import GodwitJob
import GodwitModel
import GodwitStore

extension Verification {
  /// The keys of the job's objects in a table.
  func keys(of root: String) -> AppendedPart.Keys { appended?.keys(of: root) ?? .init() }

  /// A further condition, with its AND, that an object is one of the job's; empty when every object is.
  func own(_ key: String, _ entity: String) -> String {
    let range = range(of: entity)
    return range == .init() ? "" : " AND \(key) BETWEEN \(range.first) AND \(range.last)"
  }

  /// The same for a row of the join table `j`: none of its ends is younger than the job, and one is the job's.
  func ownRows(_ from: String, _ entity: String, _ to: String, _ other: String) -> String {
    guard appended != nil else { return "" }
    let (a, b) = (range(of: entity), range(of: other))
    return
      " AND j.\(from) <= \(a.last) AND j.\(to) <= \(b.last) AND (j.\(from) >= \(a.first) OR j.\(to) >= \(b.first))"
  }

  private func range(of entity: String) -> AppendedPart.Keys {
    keys(of: job.destinationModel.root(of: entity)?.name ?? entity)
  }

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

  /// Notes the external files of an object that the job did not make.
  func noteExternalFiles(ofOther row: StoredRow, root: String) throws {
    var name: String? = destinationSchema.fillsTable(root) ? root : nil
    if name == nil, row.values.count > 1, case .integer(let number) = row.values[1] { name = names[number] }
    guard let name else { return }
    for (attribute, place) in try layout(of: name).attributes where row.values.indices.contains(place) {
      try noteExternalFile(row.values[place], attribute, name, isCounted: false)
    }
  }
}
