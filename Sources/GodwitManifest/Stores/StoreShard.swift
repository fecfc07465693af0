import GodwitModel
import Yams

/// A part of the stores of a manifest: those whose key hashes to one of so many numbers.
///
/// The key of a store is its path below the fixed part of the pattern, or below the folder of the list; elsewhere its
/// path as it is. The number is the first eight bytes of the key's SHA-256, most significant first, modulo the count,
/// plus 1. It depends on nothing else, so every process and every machine finds the same parts.
/// `sha256sum` finds them too. A plan by size would need a look at all stores first.
package struct StoreShard: Sendable, Hashable, CustomStringConvertible {
  /// From 1 to `count`.
  package let number: Int
  package let count: Int

  /// All stores.
  package static let whole = StoreShard(number: 1, count: 1)
  package static let countMaximum = 1_000_000

  private init(number: Int, count: Int) { (self.number, self.count) = (number, count) }

  /// - Parameter text: A text such as `3/10`. The result is nil for anything else, and for a number that is not from 1
  ///   to the count.
  package init?(_ text: some StringProtocol) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, parts.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }),
      let number = Int(parts[0]), let count = Int(parts[1]), count <= Self.countMaximum, number >= 1, number <= count
    else { return nil }
    self.init(number: number, count: count)
  }

  package var description: String { "\(number)/\(count)" }

  /// Whether a store with this key is in the shard.
  package func contains(_ key: String) -> Bool { count == 1 || Self.number(of: key, count: count) == number }

  /// The number of the shard that a key belongs to.
  package static func number(of key: String, count: Int) -> Int {
    var sum = SHA256()
    sum.update(data: Array(key.utf8))
    let value = sum.finalize().prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return Int(value % UInt64(count)) + 1
  }
}

extension JobManifest {
  /// The keys of `stores`, which concern a job of many stores as a whole.
  package struct Stores: Sendable, Hashable {
    /// How many stores of a shard may fail.
    package enum FailureLimit: Sendable, Hashable {
      case count(Int)
      case percent(Double)

      /// Whether so many failed stores are too many.
      package func isExceeded(by failed: Int, of stores: Int) -> Bool {
        switch self {
        case .count(let most): failed > most
        case .percent(let most): Double(failed) * 100 > most * Double(stores)
        }
      }

      package var text: String {
        switch self {
        case .count(let most): "\(most)"
        case .percent(let most): most == most.rounded() ? "\(Int(most)) %" : "\(most) %"
        }
      }
    }

    /// The folder of the results; nil: beside the manifest.
    package var results: ManifestPath?
    package var maxFailed: FailureLimit?
    /// Stores at the same time in one process.
    package var jobs: Int?
  }

  static func stores(_ entry: YAMLReader.Entry, _ reader: YAMLReader) throws -> Stores {
    let parts = try reader.entries(entry.value, key: "stores", known: keys(in: "stores"), expected: "keys and values")
    var stores = Stores()
    if let part = parts["results"] { stores.results = try reader.path(part.value, key: part.key) }
    if let part = parts["jobs"] {
      stores.jobs = try reader.integer(part.value, key: part.key, in: JobLoader.jobsAtOnce)
    }
    if let part = parts["max-failed"] {
      let expected = "a number of stores, or a percentage such as 1 %"
      let text = try reader.text(part.value, key: part.key, expected: expected)
      if text.hasSuffix("%") {
        var digits = text.dropLast().drop(while: \.isWhitespace)
        while digits.last?.isWhitespace == true { digits.removeLast() }
        guard let percent = Double(digits), (0...100).contains(percent) else {
          throw reader.wrong(part.key, expected: expected, part.value)
        }
        stores.maxFailed = .percent(percent)
      } else {
        guard let count = Int(text), count >= 0 else { throw reader.wrong(part.key, expected: expected, part.value) }
        stores.maxFailed = .count(count)
      }
    }
    return stores
  }

  /// Refuses a file of an earlier version that described a job for many stores in shards.
  static func refuseFleet(_ found: [YAMLReader.Entry], _ reader: YAMLReader) throws {
    let old = ["fleet", "folder", "shards", "canary", "failures", "root"]
    guard let entry = found.first(where: { old.contains($0.key) }) else { return }
    throw reader.error(
      "expected a job manifest, found the key '\(entry.key)' of a fleet file, which no version reads any more",
      at: entry.location,
      remedy:
        "write `stores: {results: FOLDER, max-failed: N, jobs: N}` into the job's manifest, and run it with `godwit run JOB --shard I/N`"
    )
  }
}
