import GodwitJob
import GodwitModel
import GodwitStore

/// New objects that are the same as objects of the destination, by `unique-by`, become one with them.
extension Executor {
  func meet() throws -> Ledger.Outcome {
    let statements = program.meet
    for sql in statements.preparation { try connection.execute(sql) }
    for index in program.meeting {
      for sql in try statements.search(index) { try connection.execute(sql) }
    }
    var counts: [MetCount] = []
    if try connection.value("SELECT 1 FROM \(MeetStatements.met) LIMIT 1") != nil {
      for sql in statements.redirection() { try connection.execute(sql) }
      for index in program.meeting { counts.append(try replace(index, statements)) }
      // A link of one may lead to another.
      for index in program.meeting { try connection.execute(try statements.removal(index)) }
    }
    for sql in statements.completion { try connection.execute(sql) }
    return .init(rows: counts.reduce(0) { $0 + $1.objects }, met: counts)
  }

  private func replace(_ index: MappingID, _ statements: MeetStatements) throws -> MetCount {
    let compared = try statements.compared(index)
    let row = try connection.rows(try statements.tally(index, compared)).first ?? []
    func number(_ place: Int) -> Int64 {
      if row.indices.contains(place), case .integer(let number) = row[place] { number } else { 0 }
    }
    var changed: Int64 = 0
    if number(0) > 0, let sql = try statements.replacement(index, compared) {
      try connection.execute(sql)
      changed = connection.changes
    }
    return MetCount(
      mapping: program.mappings[index].name, objects: number(0), changed: changed, unlike: number(1),
      kept: number(2),
      lost: compared.enumerated().map { .init(name: $1.name, isLink: $1.isLink, count: number($0 + 3)) })
  }
}
