/// Gives tables and columns names that SQLite tells apart: it ignores case.
///
/// A name that is taken gets `_2`, `_3` and so on.
struct SQLiteNames {
  private var taken: Set<String> = []

  mutating func add(_ name: String) -> String {
    // A statement ends at a NUL, and SQLite keeps names that begin with its own for itself.
    var base = String(String.UnicodeScalarView(name.unicodeScalars.map { $0.value < 0x20 ? "_" : $0 }))
    if base.isEmpty || base.lowercased().hasPrefix("sqlite_") { base = "_" + base }
    var candidate = base
    var number = 2
    while !taken.insert(candidate.lowercased()).inserted {
      candidate = "\(base)_\(number)"
      number += 1
    }
    return candidate
  }
}
