import GodwitJob
import GodwitStore

/// Entities whose names in `Z_PRIMARYKEY` were exchanged.
///
/// Each row of a store has the number of its entity, and `Z_PRIMARYKEY` has a name for each number. With two names
/// exchanged no row has changed, and yet each object is read as an object of the other entity, or gets its next key from
/// the counter of the other entity.
extension ReceiptCheck {
  /// Reports exchanged names.
  ///
  /// - Parameters:
  ///   - store: The store; becomes the store as it is under the names that the receipt knows.
  ///   - sums: Its objects and links; become those under these names.
  func compareNames(
    _ receipt: Receipt, _ store: inout ReceiptedStore, _ sums: inout StoreChecksums, _ limits: StoreChecksums.Limits,
    _ report: inout VerificationReport, check: @escaping () throws -> Void
  ) throws {
    var pairs = try store.exchangedNames()
    let taken = Set(pairs.flatMap { [$0.0, $0.1] })
    pairs += candidates(receipt, sums).filter {
      !taken.contains($0.0) && !taken.contains($0.1) && store.areInOneTable($0.0, $0.1)
    }
    guard !pairs.isEmpty else { return }
    let known = Self.known(receipt)
    let exchanged = store.exchangingNames(pairs)
    let found = try exchanged.checksums(limits: limits, check: check)
    let names = Set(pairs.flatMap { [$0.0, $0.1] })
    let areRight = found.entities.filter { names.contains($0.name) }.allSatisfy {
      known[$0.name]?.checksum == $0.objects.checksum && known[$0.name]?.objects == $0.objects.count
    }
    guard areRight else { return }
    for (one, other) in pairs {
      report.add(
        .init(
          .entity, entity: one,
          message:
            "its name and the name '\(other)' in Z_PRIMARYKEY were exchanged since: objects of one entity are taken for objects of the other"
        ))
    }
    (store, sums) = (exchanged, found)
  }

  private static func known(_ receipt: Receipt) -> [String: Receipt.Entity] {
    Dictionary(receipt.entities.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// Pairs of entities of which each has as many objects as the receipt counts of the other, and other objects than the
  /// receipt counts of itself. No entity is in two pairs.
  private func candidates(_ receipt: Receipt, _ sums: StoreChecksums) -> [(String, String)] {
    let known = Self.known(receipt)
    let changed = sums.entities.compactMap { found in known[found.name].map { (found: found, known: $0) } }
      .filter { $0.found.objects.checksum != $0.known.checksum || $0.found.objects.count != $0.known.objects }
    var pairs: [(String, String)] = []
    var taken: Set<String> = []
    for (place, one) in changed.enumerated() where !taken.contains(one.known.name) {
      let other = changed.dropFirst(place + 1).first {
        !taken.contains($0.known.name) && $0.found.objects.count == one.known.objects
          && one.found.objects.count == $0.known.objects
      }
      guard let other else { continue }
      pairs.append((one.known.name, other.known.name))
      taken.formUnion([one.known.name, other.known.name])
    }
    return pairs
  }
}
