import GodwitJob
import GodwitModel

/// Which places may belong to two stores: eight bytes for each of a million stores, and no path.
///
/// A place is known by its stem, which all files of one job share. Two stores with one place have one stem, and a stem
/// that came once tells of no conflict. One that came twice only says that the places must be compared.
struct PlaceClaims {
  private var claimed: [Int] = []
  private var noted: [Int] = []

  /// A job writes here. All places of one store are claimed in one call.
  mutating func claim(_ places: [String]) { claimed += Set(places.map(Self.hash)) }

  /// Something is here that no job may write.
  mutating func note(_ place: String) { noted.append(Self.hash(place)) }

  /// The hashes that were claimed by two stores, or claimed and noted. Forgets all of them.
  mutating func takeSuspects() -> Set<Int> {
    defer { self = PlaceClaims() }
    claimed.sort()
    noted.sort()
    var suspects: Set<Int> = []
    for (one, next) in zip(claimed, claimed.dropFirst()) where one == next { suspects.insert(one) }
    var index = 0
    for hash in noted {
      while index < claimed.count, claimed[index] < hash { index += 1 }
      if index < claimed.count, claimed[index] == hash { suspects.insert(hash) }
    }
    return suspects
  }

  static func hash(_ place: String) -> Int { stem(of: place).hashValue }

  private static let endings = [Receipt.suffix, MigrationJob.verificationSuffix, Quarantine.suffix].map {
    Array($0.utf8)
  }

  /// The bytes of a place without the endings of files beside a store, and without the mark of an old store.
  private static func stem(of place: String) -> [UInt8] {
    var bytes = Array(place.utf8)
    while let ending = endings.first(where: { bytes.ends(with: $0) }) { bytes.removeLast(ending.count) }
    let name = (bytes.lastIndex(of: UInt8(ascii: "/")) ?? -1) + 1
    let end = bytes[name...].lastIndex(of: UInt8(ascii: ".")) ?? bytes.count
    if end > name, bytes[end - 1] == UInt8(ascii: "~") { bytes.remove(at: end - 1) }
    return bytes
  }
}

extension [UInt8] {
  fileprivate func ends(with other: [UInt8]) -> Bool { count > other.count && suffix(other.count) == other[...] }
}
