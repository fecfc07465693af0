import CSQLite
import Foundation
import GodwitModel

extension StoreConnection {
  /// The findings of SQLite's check of a database; empty when all is sound. Its words name pages, rows and indexes,
  /// never values. The order of an index whose collation or function only the application has is not checked.
  ///
  /// - Parameters:
  ///   - isFull: Whether indexes are compared with their tables too, which takes twice as long.
  ///   - table: The only table to check; nil for the whole database.
  /// - Throws: `.inputOutput` (74) when the disk fails, which says nothing about the content.
  package func complaints(
    about schema: String, of table: String? = nil, isFull: Bool, limit: Int
  ) throws -> [String] {
    var complaints: [String] = []
    do {
      try withStandIns(for: schema) { foreign in
        // SQLite counts the lines that are left out here.
        let argument = table.map(quoted) ?? "\(foreign.isEmpty ? limit : Int(Int32.max))"
        try query("PRAGMA \(schema).\(isFull ? "integrity" : "quick")_check(\(argument))") { row in
          guard let text = row.string(0), text != "ok", !foreign.explains(text) else { return true }
          if Self.tellsOfDisk(text) {
            let file = schema == Self.sourceSchema ? sourcePath ?? path : path
            throw GodwitError(
              .inputOutput, "cannot read '\(file)': the disk fails", cause: text,
              remedy: "check the disk, and run the same command")
          }
          complaints.append(text.replacing("\n", with: " "))
          return complaints.count < limit
        }
      }
    } catch let error as GodwitError where error.code == .dataWrong && error.remedy != Self.foreignNameRemedy {
      // Some damage ends the check itself.
      complaints.append(error.message)
    }
    guard !isFull, complaints.contains(where: Self.isDoubtful) else { return complaints }
    let sure = try self.complaints(about: schema, of: table, isFull: true, limit: limit)
    return complaints.count < limit ? complaints.filter { !Self.isDoubtful($0) || sure.contains($0) } : sure
  }

  /// Whether a finding of the quick check may be wrong. SQLite before 3.41 takes columns for those of the key in a table
  /// WITHOUT ROWID whose key has another order, and finds NULL in them.
  private static func isDoubtful(_ complaint: String) -> Bool { complaint.hasPrefix("NULL value in ") }

  /// Whether a finding is a read that failed: SQLite's check puts the extended result code into its words.
  package static func tellsOfDisk(_ finding: String) -> Bool {
    guard let number = finding.components(separatedBy: "error code=").dropFirst().first,
      let code = Int32(number.prefix { $0.isNumber })
    else { return false }
    return code & 0xFF == SQLITE_IOERR
  }

  /// SQLite's quick check of the store that was made: every page and record is sound.
  ///
  /// - Throws: `.inputOutput` (74) with SQLite's first complaint.
  package func quickCheck(remedy: String, safe: String? = nil) throws {
    let found: [String]
    do { found = try complaints(about: "main", isFull: false, limit: 1) } catch var error as GodwitError
      where error.code == .inputOutput
    {
      (error.remedy, error.safe) = (remedy, safe)
      throw error
    }
    guard let problem = found.first else { return }
    throw GodwitError(
      .inputOutput, "cannot finish: the new store fails SQLite's check", cause: problem, remedy: remedy, safe: safe)
  }
}
