/// Whether all keys of a to-one are those that the mappings give.
final class ToOneProof {
  var count: Int64 = 0
  private(set) var isDoubtful = false

  /// Restores the results of an earlier verification.
  func resume(_ known: VerificationCheckpoint.ToOne) { (count, isDoubtful) = (known.count, known.isDoubtful) }

  /// Marks the relationship as doubtful, so that all of it is examined.
  func doubt() { isDoubtful = true }
}
