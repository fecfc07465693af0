import Foundation
import GodwitCLI
import GodwitStore
import TestSupport
import Testing

/// `export --raw` of a store with damaged pages.
@Suite struct DamagedExportTests {
  /// The keys of the books that an export has.
  private func keys(_ output: String) throws -> [Int64] {
    try JSONValue.lines(output).filter { $0["@table"]?.string == "ZBOOK" }.compactMap { $0["Z_PK"]?.integer }
  }

  /// The keys that a message names for a table.
  private func skipped(_ table: String, _ diagnostics: String) -> [ClosedRange<Int64>] {
    diagnostics.matches(of: /table '(\w+)': keys? (\d+)(?: to (\d+))?/).filter { $0.1 == table }.compactMap { match in
      guard let first = Int64(match.2), let last = match.3.map({ Int64($0) }) ?? first else { return nil }
      return first...last
    }
  }

  private func export(
    _ job: BreakableJob, _ arguments: String...
  ) -> (status: Int32, output: String, diagnostics: String) {
    ProjectFixture().godwit(["export", job.file("library.sqlite"), "--raw"] + arguments)
  }

  @Test(arguments: [[150], [1], [40, 200], [300], [1, 300], [100, 150, 200]])
  func `every row but those of damaged pages is written, and these are named`(books: [Int64]) throws {
    let job = try BreakableJob()
    for book in books { try job.spoilPage(with: "\(BreakableJob.secret) book \(book) x") }
    let result = export(job, "--all")
    #expect(result.status == 65, "\(result.diagnostics)")
    let found = try keys(result.output)
    let left = skipped("ZBOOK", result.diagnostics)
    let isAtEnd = result.diagnostics.contains("table 'ZBOOK': keys from ")
    #expect(isAtEnd == books.contains(300), "\(result.diagnostics)")
    for book in books where book < 300 && book > 1 { #expect(left.contains { $0.contains(book) }, "\(left)") }
    let isAtStart = result.diagnostics.contains("table 'ZBOOK': keys up to ")
    #expect(isAtStart == books.contains(1), "\(result.diagnostics)")
    // What is missing is what is named, and it is little.
    let missing = Set(1...BreakableJob.books).subtracting(found)
    #expect(found == found.sorted() && Set(found).count == found.count)
    #expect(
      missing.allSatisfy { key in key < 40 && isAtStart || key > 260 && isAtEnd || left.contains { $0.contains(key) } })
    #expect(
      left.reduce(0) { $0 + $1.count } <= missing.count && missing.count < 40 * books.count, "\(missing)")
    #expect(try JSONValue.lines(result.output).filter { $0["@table"]?.string == "ZAUTHOR" }.count == 3)
    #expect(!result.diagnostics.contains(BreakableJob.secret))
  }

  @Test(arguments: ["csv", "sqlite", "jsonl"]) func `a file with the other rows is made in each format`(format: String)
    throws
  {
    let job = try BreakableJob()
    try job.spoilPage(with: "\(BreakableJob.secret) book 150 x")
    let result = export(job, "--all", "--format", format, "-o", job.file("saved"))
    #expect(result.status == 65 && result.diagnostics.contains("ZBOOK"), "\(result.diagnostics)")
    let whole = try #require(skipped("ZBOOK", result.diagnostics).first)
    if format == "sqlite" {
      let connection = try StoreConnection(path: job.file("saved"))
      let count = try connection.integer("SELECT COUNT(*) FROM ZBOOK")
      #expect(count == BreakableJob.books - Int64(whole.count))
      try connection.close()
    } else {
      let text = try String(contentsOfFile: job.file("saved/ZBOOK.\(format)"), encoding: .utf8)
      let lines = text.split(whereSeparator: \.isNewline).count - (format == "csv" ? 1 : 0)
      #expect(lines == Int(BreakableJob.books) - whole.count)
    }
  }

  @Test func `a value whose own pages are damaged costs its row alone`() throws {
    let job = try BreakableJob()
    let text = String(repeating: "long ", count: 2000) + "the mark" + String(repeating: " long", count: 1000)
    try job.sql("UPDATE ZBOOK SET ZTITLE = ?1 WHERE Z_PK = 77", [.text(text)])
    try job.sql("VACUUM")
    try job.spoilPage(with: "the mark")
    let result = export(job, "--table", "ZBOOK")
    let found = try keys(result.output)
    // The pages of a value have no mark of their own: only a broken chain of pages is noticed.
    #expect(result.status == 65 && found == (1...BreakableJob.books).filter { $0 != 77 }, "\(result.diagnostics)")
    #expect(result.diagnostics.contains("table 'ZBOOK': key 77"), "\(result.diagnostics)")
  }

  @Test func `pages that changed places end an export, and a raw export says so`() throws {
    let sound = try BreakableJob()
    let bytes = try Data(contentsOf: URL(filePath: sound.file("library.sqlite")))
    // Pages of rows, without the first page.
    let leaves = (1..<bytes.count / 4096).filter { bytes[$0 * 4096] == 0x0D }
    let books = sound.file("sound.jsonl")
    let command = ["--entity", "Book", "--model", sound.file("Library.xcdatamodeld"), "-o"]
    #expect(ProjectFixture().godwit(["export", sound.file("library.sqlite")] + command + [books]).status == 0)
    let whole = try Data(contentsOf: URL(filePath: books))
    var told = 0
    for (a, b) in zip(leaves, leaves.dropFirst()) {
      let job = try BreakableJob()
      var swapped = bytes
      let (first, second) = (a * 4096..<(a + 1) * 4096, b * 4096..<(b + 1) * 4096)
      swapped.replaceSubrange(first, with: bytes[second])
      swapped.replaceSubrange(second, with: bytes[first])
      try swapped.write(to: URL(filePath: job.file("library.sqlite")))
      let output = job.file("books.jsonl")
      let result = ProjectFixture().godwit([
        "export", job.file("library.sqlite"), "--entity", "Book", "--model", job.file("Library.xcdatamodeld"), "-o",
        output,
      ])
      if result.status == 0 {
        // The pages are of other tables.
        #expect(try Data(contentsOf: URL(filePath: output)) == whole, "\(a) \(b)")
      } else {
        #expect(!FileManager.default.fileExists(atPath: output), "\(a) \(b): \(result)")
      }
      // Exchanged roots of other tables are rows that SQLite finds sound.
      guard result.diagnostics.contains("SQLite finds the store damaged") else { continue }
      told += 1
      #expect(export(job, "--all").status == 65, "\(a) \(b)")
    }
    #expect(told > 3, "\(leaves)")
  }
}
